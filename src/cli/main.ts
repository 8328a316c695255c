import { Command, CommanderError } from 'commander';
import pc from 'picocolors';
import { InputError } from '../base/input-error.js';
import { toolInfo } from '../report/tool-info.js';
import { registerDiagnose } from './commands/diagnose.js';
import { registerInspect } from './commands/inspect.js';
import { registerRules } from './commands/rules.js';
import { type CommandContext, EXIT, type ExitCode } from './context.js';

/** Runs the command line; returns the exit code. Nothing a user can do wrong prints a stack trace. */
export async function main(argv: readonly string[]): Promise<number> {
  let exitCode: ExitCode = EXIT.done;
  const context: CommandContext = {
    stdout: process.stdout,
    stderr: process.stderr,
    color: pc.isColorSupported && process.stdout.isTTY === true,
    exitWith: (code) => {
      exitCode = code;
    },
  };
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    // The reader of a pipe has gone (`| head`): nobody is left to tell.
    if (error.code === 'EPIPE') process.exit(EXIT.done);
    throw error;
  });
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
    .showHelpAfterError('(--help shows how it is used)')
    .addHelpText('after', '\nExamples:\n  $ whyslow diagnose runs/llama\n  $ whyslow inspect runs/llama');
  registerDiagnose(command, context);
  registerInspect(command, context);
  registerRules(command, context);
  for (const sub of command.commands) sub.exitOverride();
  return command;
}

function describeFailure(error: unknown): string {
  if (error instanceof InputError) return `whyslow: ${error.message}`;
  if (process.env.WHYSLOW_DEBUG && error instanceof Error) return error.stack ?? error.message;
  const message = error instanceof Error ? error.message : String(error);
  return `whyslow: this should not have happened: ${message}\nPlease report it; WHYSLOW_DEBUG=1 shows where it was.`;
}
