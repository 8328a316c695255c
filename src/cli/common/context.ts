/** What every command gets from main.ts. */
export interface CommandContext {
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
  /** Sets the exit code of a command that did not throw: one of `EXIT`, or the code of the command that `run` started. */
  exitWith(code: number): void;
}

/** A line on the standard error output. */
export const say = ({ stderr }: CommandContext, text: string): void =>
  void stderr.write(`whyslow: ${text}\n`);

/** Exit codes, as docs/usage.md promises them. */
export const EXIT = { done: 0, gateFailed: 1, badInput: 2, noVerdict: 3 } as const;
