/** Python stacks of one process, from outside: a dump of one moment, or samples over some time. */
export interface StackProfile {
  readonly kind: 'dump' | 'samples';
  readonly pid: number | null;
  /** Command line; empty: unknown. */
  readonly command: string;
  /** As the file says. Null: it does not. */
  readonly rank: number | null;
  /** Without `runs` it may have no stacks. */
  readonly state: ProcessState;
  readonly threads: readonly StackThread[];
}

/** `stopped` by a signal; `silent`: it did not answer in time, so it is stopped or its interpreter is held; `gone`: no process. */
export type ProcessState = 'runs' | 'stopped' | 'silent' | 'gone';

export interface StackThread {
  /** `MainThread`; empty: unknown. */
  readonly name: string;
  /** The main thread of the process that trains, not of a DataLoader worker. */
  readonly isMain: boolean;
  /** Whether it was on a core. Null: unknown. */
  readonly isActive: boolean | null;
  /** Different stacks, most samples first. A dump has one. */
  readonly stacks: readonly SampledStack[];
}

export interface SampledStack {
  /** Innermost first. */
  readonly frames: readonly StackFrame[];
  readonly samples: number;
}

export interface StackFrame {
  readonly function: string;
  readonly file: string;
  readonly line: number;
  /** Of the job, not of Python or an installed package. */
  readonly isOwn: boolean;
}
