import { Command, CommanderError } from 'commander';
import pc from 'picocolors';
import { InputError } from '../base/input-error.js';
import { toolInfo } from '../report/tool-info.js';
import { registerInspect } from './commands/inspect.js';

export interface Streams {
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
  /** Whether stdout takes colours. */
  readonly color: boolean;
}

/** Exit codes of the contract. */
export const EXIT = { done: 0, gateFailed: 1, badInput: 2, noVerdict: 3 } as const;

/** Runs the command line; returns the exit code. Nothing a user can do wrong prints a stack trace. */
export async function main(argv: readonly string[]): Promise<number> {
  const streams: Streams = {
    stdout: process.stdout,
    stderr: process.stderr,
    color: pc.isColorSupported && process.stdout.isTTY === true,
  };
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    // The reader of a pipe has gone (`| head`): nobody is left to tell.
    if (error.code === 'EPIPE') process.exit(EXIT.done);
    throw error;
  });
  try {
    await program(streams).parseAsync(argv as string[], { from: 'user' });
    return EXIT.done;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.badInput;
    process.stderr.write(`${describeFailure(error)}\n`);
    return EXIT.badInput;
  }
}

function program(streams: Streams): Command {
  const { version } = toolInfo();
  const command = new Command('whyslow')
    .description('Why is my PyTorch training slow, and what do I change?')
    .version(version)
    .exitOverride()
    .showHelpAfterError('(--help shows how it is used)')
    .addHelpText('after', '\nExample:\n  $ whyslow inspect runs/llama');
  registerInspect(command, streams);
  for (const sub of command.commands) sub.exitOverride();
  return command;
}

function describeFailure(error: unknown): string {
  if (error instanceof InputError) return `whyslow: ${error.message}`;
  if (process.env.WHYSLOW_DEBUG && error instanceof Error) return error.stack ?? error.message;
  const message = error instanceof Error ? error.message : String(error);
  return `whyslow: this should not have happened: ${message}\nPlease report it; WHYSLOW_DEBUG=1 shows where it was.`;
}
