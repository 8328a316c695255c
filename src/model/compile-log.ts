import type { Ns } from '../base/units.js';

/** What torch.compile wrote to its log: which functions were compiled again and why. Plain data. */
export interface CompileLog {
  /** In order of appearance. */
  readonly functions: readonly CompiledFunction[];
  readonly graphBreaks: readonly GraphBreak[];
  /** Null: the log does not say how long anything took. */
  readonly times: CompileTimes | null;
}

/** How long one process compiled, and what. Times are ns since 1970 on the clock of its machine. */
export interface CompileTimes {
  /** Null: the log does not say, as for a job of one process. */
  readonly rank: number | null;
  /** The first and the last record that has a time. */
  readonly first: Ns;
  readonly last: Ns;
  /** In order of their start. */
  readonly compilations: readonly Compilation[];
}

/** One version of a function. Its backward pass, compiled when it first runs, belongs to it. */
export interface Compilation {
  readonly name: string;
  readonly file: string;
  readonly line: number;
  /** When it was compiled: forward, then backward. Apart from each other, so that they add up. */
  readonly spans: readonly CompileSpan[];
  /** Lookups in the caches of compiled graphs. */
  readonly cache: CacheLookups;
  /** The kind of error that ended it. Null: none. */
  readonly failure: string | null;
  /** Collectives in the compiled code, in the order in which it runs them. Null: not logged, as when the code came from a cache. */
  readonly collectives: readonly string[] | null;
}

export interface CompileSpan {
  readonly start: Ns;
  readonly end: Ns;
}

export interface CacheLookups {
  readonly hits: number;
  readonly misses: number;
  /** The code could not be cached at all. */
  readonly bypasses: number;
  /** Why, the first time. Null: not logged. */
  readonly bypassReason: string | null;
}

/** One compiled function of one rank. */
export interface CompiledFunction {
  /** Null: the log does not say. */
  readonly rank: number | null;
  readonly name: string;
  readonly file: string;
  readonly line: number;
  /** How often the log says that it was compiled again. 0: only the limit was logged. */
  readonly recompiles: number;
  /** The limit that was reached; from then on the function runs eagerly. Null: not reached. */
  readonly limit: RecompileLimit | null;
  /** Guards that failed, those of most recompiles first. */
  readonly guards: readonly FailedGuard[];
}

export interface RecompileLimit {
  /** `recompile_limit`, or `cache_size_limit` before torch 2.6; `accumulated_…` counts all functions together. */
  readonly setting: string;
  readonly value: number;
}

/** What a guard checks: the size of a dimension, the value of a number, … */
export type GuardKind = 'size' | 'value' | 'dtype' | 'rank' | 'grad-mode' | 'length' | 'object' | 'other';

export interface FailedGuard {
  readonly kind: GuardKind;
  /** What is checked, as the job's code names it: `tokens`, `self.scale`. Empty: the guard names nothing. */
  readonly subject: string;
  /** Of a tensor. Null: the guard is not about one dimension. */
  readonly dimension: number | null;
  /** Recompiles in which it failed. */
  readonly recompiles: number;
  /** Values seen, in order of appearance, without repeats. Of very many, the first. */
  readonly values: readonly string[];
  /** The first of these failures as logged. */
  readonly text: string;
}

export interface GraphBreak {
  readonly rank: number | null;
  readonly file: string;
  readonly line: number;
  readonly reason: string;
  readonly count: number;
}
