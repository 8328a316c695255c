import { Command, CommanderError } from 'commander';
import { describeSystemError, InputError, isSystemError } from '../base/input-error.js';
import { printable } from '../base/printable.js';
import { toolInfo } from '../library/vocabulary.js';
import { type CommandContext, EXIT, Output, say } from './common/output.js';

const EXAMPLES = `
Examples:
  $ whyslow run -- python train.py
  $ whyslow diagnose trace.json.gz
  $ whyslow triage                      # a job that is already running

\`whyslow COMMAND --help\` shows the options and more examples.`;

type Register = (program: Command, context: CommandContext) => void;

/** Each is loaded when it is needed: one command starts faster without the others. */
type Commands = Readonly<Record<string, () => Promise<Register>>>;

/** By heading, in the order of the help. */
export type CommandGroups = Readonly<Record<string, Commands>>;

/** Runs the command line and returns the exit code. No user error prints a stack trace. */
export async function runCommandLine(argv: readonly string[], groups: CommandGroups): Promise<number> {
  const exit = new ExitCode();
  const context: CommandContext = {
    stdout: new Output(process.stdout),
    stderr: new Output(process.stderr),
    exitWith: (code) => exit.set(code),
    exitAsJob: (code) => exit.fix(code),
  };
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    // The reader of the pipe (`| head`) or the terminal is gone: nobody is left to write to.
    if (error.code === 'EPIPE' || error.code === 'EIO') process.exit(exit.code);
    say(context, `cannot write to the standard output: ${describeSystemError(error)}`);
    exit.set(EXIT.badInput);
    // Writing fails later than the call: `main` may have returned.
    process.exitCode = exit.code;
  });
  process.stderr.on('error', () => {});
  process.on('uncaughtException', (error) => {
    sayFailure(error, context);
    exit.set(EXIT.badInput);
    process.exit(exit.code);
  });
  try {
    const command = await program(context, argv, groups);
    await command.parseAsync(argv as string[], { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.badInput;
    sayFailure(error, context);
    exit.set(EXIT.badInput);
  }
  return exit.code;
}

class ExitCode {
  code: number = EXIT.done;
  #isFixed = false;

  set(code: number): void {
    if (!this.#isFixed) this.code = code;
  }

  fix(code: number): void {
    this.set(code);
    this.#isFixed = true;
  }
}

async function program(
  context: CommandContext,
  argv: readonly string[],
  groups: CommandGroups,
): Promise<Command> {
  const { version } = toolInfo();
  const command = new Command('whyslow')
    .description('Why is my PyTorch training slow, and what do I change?')
    .version(version)
    .exitOverride()
    .showHelpAfterError('(--help shows the usage)')
    .enablePositionalOptions() // options after the command of `run` belong to that command
    .configureOutput({
      writeOut: (text) => context.stdout.write(text),
      writeErr: (text) => context.stderr.write(withoutBreaks(text, argv)),
    })
    // A line each: names without arguments, and not the command `help`.
    .configureHelp({ subcommandTerm: (sub) => sub.name(), visibleCommands: ({ commands }) => [...commands] })
    .addHelpText('after', EXAMPLES);
  const [word = ''] = argv;
  const isNamed = Object.values(groups).some((commands) => Object.hasOwn(commands, word));
  // All of them for the help, and for a name that may be misspelled.
  const isWanted = (name: string) => (isNamed ? name === word : !['--version', '-V'].includes(word));
  for (const [heading, commands] of Object.entries(groups)) {
    command.commandsGroup(heading);
    for (const [name, load] of Object.entries(commands)) if (isWanted(name)) (await load())(command, context);
  }
  for (const sub of command.commands) sub.exitOverride();
  return command;
}

/** Commander quotes words of the command line, which may be names of files with line breaks. */
const withoutBreaks = (text: string, argv: readonly string[]): string =>
  argv.filter((word) => word.includes('\n')).reduce((t, word) => t.replaceAll(word, printable(word)), text);

function sayFailure(error: unknown, context: CommandContext): void {
  if (error instanceof InputError) return say(context, error.message, error.more);
  if (isSystemError(error)) return say(context, describeSystemError(error));
  const { message, stack = '' } = error instanceof Error ? error : new Error(String(error));
  const advice = process.env.WHYSLOW_DEBUG
    ? stack.split('\n').filter((line) => line.startsWith('    at '))
    : ['Please report it. WHYSLOW_DEBUG=1 prints the stack trace.'];
  say(context, `internal error: ${message}`, advice);
}
