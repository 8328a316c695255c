/** Python stacks of one process, from outside: a dump of one moment, or samples over some time. */
export interface StackProfile {
  readonly kind: 'dump' | 'samples';
  readonly pid: number | null;
  /** Command line; empty: unknown. */
  readonly command: string;
  readonly threads: readonly StackThread[];
}

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
