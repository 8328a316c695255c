import { Command, CommanderError } from 'commander';
import { InputError } from '../base/input-error.js';
import { toolInfo } from '../library/vocabulary.js';
import { registerCapture } from './commands/capture.js';
import { registerDiagnose } from './commands/diagnose.js';
import { registerInspect } from './commands/inspect.js';
import { registerRules } from './commands/rules.js';
import { registerRun } from './commands/run.js';
import { type CommandContext, EXIT } from './common/context.js';

const EXAMPLES = `
Examples:
  $ whyslow diagnose runs/llama
  $ whyslow run -- torchrun --nproc-per-node 8 train.py
  $ whyslow inspect runs/llama`;

/** Runs the command line and returns the exit code. No user error prints a stack trace. */
export async function main(argv: readonly string[]): Promise<number> {
  let exitCode: number = EXIT.done;
  const context: CommandContext = {
    stdout: process.stdout,
    stderr: process.stderr,
    exitWith: (code) => {
      exitCode = code;
    },
  };
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    // The reader of the pipe (`| head`) or the terminal is gone: nobody is left to write to.
    if (error.code === 'EPIPE' || error.code === 'EIO') process.exit(exitCode);
    throw error;
  });
  process.stderr.on('error', () => {});
  try {
    await program(context).parseAsync(argv as string[], { from: 'user' });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.badInput;
    process.stderr.write(`${describeFailure(error)}\n`);
    return EXIT.badInput;
  }
}

function program(context: CommandContext): Command {
  const { version } = toolInfo();
  const command = new Command('whyslow')
    .description('Why is my PyTorch training slow, and what do I change?')
    .version(version)
    .exitOverride()
    .showHelpAfterError('(--help shows the usage)')
    .enablePositionalOptions() // options after the command of `run` belong to that command
    .addHelpText('after', EXAMPLES);
  registerDiagnose(command, context);
  registerRun(command, context);
  registerCapture(command, context);
  registerInspect(command, context);
  registerRules(command, context);
  for (const sub of command.commands) sub.exitOverride();
  return command;
}

function describeFailure(error: unknown): string {
  if (error instanceof InputError) return `whyslow: ${error.message}`;
  if (process.env.WHYSLOW_DEBUG && error instanceof Error) return error.stack ?? error.message;
  const message = error instanceof Error ? error.message : String(error);
  return `whyslow: internal error: ${message}\nPlease report it. WHYSLOW_DEBUG=1 prints the stack trace.`;
}
