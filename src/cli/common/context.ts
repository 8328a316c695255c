/** What a command gets from the program around it. */
export interface CommandContext {
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
  /** Whether stdout takes colours. */
  readonly color: boolean;
  /** For commands that end well with another code than 0: one of `EXIT`, or that of a command they ran. */
  exitWith(code: number): void;
}

/** Exit codes of the contract. */
export const EXIT = { done: 0, gateFailed: 1, badInput: 2, noVerdict: 3 } as const;
