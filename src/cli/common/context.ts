import { formatNumber } from '../../base/units.js';
import type { Problem } from '../../library/vocabulary.js';
import type { Output } from './output.js';

/** What every command gets from main.ts. */
export interface CommandContext {
  readonly stdout: Output;
  readonly stderr: Output;
  /** Sets the exit code of a command that did not throw. A failure to print the result still changes it. */
  exitWith(code: number): void;
  /** Sets the exit code for good: that of the job that `run` started. */
  exitAsJob(code: number): void;
}

/** A message on the standard error output. More lines continue the first. */
export function say({ stderr }: CommandContext, text: string, more: readonly string[] = []): void {
  stderr.line(`whyslow: ${text}`);
  for (const line of more) stderr.line(line);
}

/** Exit codes, as docs/usage.md promises them. */
export const EXIT = { done: 0, gateFailed: 1, badInput: 2, noVerdict: 3 } as const;

/** What was wrong with the files, a line each, in the words of the report. */
export function sayProblems(problems: readonly Problem[], context: CommandContext): void {
  for (const { message, consequence, count } of problems) {
    const often = count > 1 ? ` (${formatNumber(count)} times)` : '';
    say(context, `${message.replace(/\.$/, '')}${often} → ${consequence.replace(/\.$/, '')}`);
  }
}
