import type { ProblemText } from '../../../base/problem.js';
import type {
  CompiledFunction,
  CompileLog,
  FailedGuard,
  GraphBreak,
  RecompileLimit,
} from '../../../model/compile-log.js';
import { FaultCounter } from '../fault-counter.js';
import { MAX_TEXT } from '../fields.js';
import { clipped } from '../text.js';
import { parseGuard } from './guards.js';

/** More than a job has. */
const MAX_FUNCTIONS = 256;
const MAX_GUARDS = 32;
const MAX_VALUES = 64;
const MAX_BREAKS = 256;
/** Texts that differ only further on are the same. */
const MAX_KEY = 1000;
const MAX_PATH = 400;

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
interface GuardTotal extends Mutable<Omit<FailedGuard, 'values'>> {
  readonly values: Set<string>;
  /** Number of the last recompile that it was counted for: it fails for several cache entries at once. */
  countedFor: number;
}
export interface FunctionTotal extends Mutable<Omit<CompiledFunction, 'guards'>> {
  readonly guards: Map<string, GuardTotal>;
}
export type BreakTotal = Mutable<GraphBreak>;

/** Recompiles, limits and graph breaks of one file, counted by function and by place in the code. */
export class CompileTotals {
  readonly #faults: CompileFaults;
  readonly #functions = new Map<string, FunctionTotal>();
  readonly #breaks = new Map<string, BreakTotal>();

  constructor(faults: CompileFaults) {
    this.#faults = faults;
  }

  finish(): Pick<CompileLog, 'functions' | 'graphBreaks'> {
    return {
      functions: [...this.#functions.values()].map((f) => ({
        rank: f.rank,
        name: f.name,
        file: f.file,
        line: f.line,
        recompiles: f.recompiles,
        limit: f.limit,
        guards: [...f.guards.values()]
          .sort((a, b) => b.recompiles - a.recompiles)
          .map(({ kind, subject, dimension, recompiles, values, text }) => ({
            kind,
            subject,
            dimension,
            recompiles,
            values: [...values],
            text,
          })),
      })),
      graphBreaks: [...this.#breaks.values()],
    };
  }

  recompiled(
    rank: number | null,
    name: string,
    file: string,
    line: number,
    at: number,
  ): FunctionTotal | null {
    const of = this.#functionOf(rank, name, file, line, at);
    if (of) of.recompiles++;
    return of;
  }

  limited(
    rank: number | null,
    name: string,
    file: string,
    line: number,
    limit: RecompileLimit,
    at: number,
  ): FunctionTotal | null {
    const of = this.#functionOf(rank, name, file, line, at);
    if (of) of.limit = limit;
    return of;
  }

  /** A guard of the function failed; `logged` is its text. */
  guardFailed(of: FunctionTotal, logged: string, at: number): void {
    const { kind, subject, dimension, values, text } = parseGuard(logged);
    const key = clipped(kind === 'other' ? text : `${kind} ${subject} ${dimension}`, MAX_KEY);
    let guard = of.guards.get(key);
    if (!guard) {
      if (of.guards.size === MAX_GUARDS) return this.#faults.add('too-many-guards', at);
      const kept = { subject: clipped(subject, MAX_TEXT), text: clipped(text, MAX_TEXT) };
      guard = { kind, dimension, recompiles: 0, values: new Set(), ...kept, countedFor: -1 };
      of.guards.set(key, guard);
    }
    if (guard.countedFor !== of.recompiles) guard.recompiles++;
    guard.countedFor = of.recompiles;
    for (const value of values)
      if (guard.values.size < MAX_VALUES) guard.values.add(clipped(value, MAX_TEXT));
  }

  brokeAt(rank: number | null, file: string, line: number, at: number): BreakTotal | null {
    const key = `${rank} ${file} ${line}`;
    const known = this.#breaks.get(key);
    if (known) known.count++;
    if (known) return known;
    if (this.#breaks.size === MAX_BREAKS) {
      this.#faults.add('too-many-breaks', at);
      return null;
    }
    const added = { rank, file: clipped(file, MAX_PATH), line, reason: '', count: 1 };
    this.#breaks.set(key, added);
    return added;
  }

  #functionOf(
    rank: number | null,
    name: string,
    file: string,
    line: number,
    at: number,
  ): FunctionTotal | null {
    const key = `${rank} ${name} ${file} ${line}`;
    const known = this.#functions.get(key);
    if (known) return known;
    if (this.#functions.size === MAX_FUNCTIONS) {
      this.#faults.add('too-many-functions', at);
      return null;
    }
    const place = { name: clipped(name, MAX_TEXT), file: clipped(file, MAX_PATH), line };
    const added: FunctionTotal = { rank, ...place, recompiles: 0, limit: null, guards: new Map() };
    this.#functions.set(key, added);
    return added;
  }
}

const BREAK = /^Graph break in user code at (.{1,400}):(\d{1,9})$/;
const BREAK_REASON = /^(?:Graph Break )?Reason: (.+)$/;

/** Where the graph broke, if the line says so. */
export function breakPlace(text: string): { readonly file: string; readonly line: number } | null {
  const match = BREAK.exec(text);
  return match && { file: match[1]!, line: Number(match[2]) };
}
export const breakReason = (text: string): string | null =>
  clipped(BREAK_REASON.exec(text)?.[1] ?? '', MAX_TEXT) || null;

/** `0/0: `, the compilation whose guard failed. */
export const COMPILATION = /^[-!\d/_]{3,30}: /;

/** Every fault that readers of these logs tolerate. Lines that are not torch's are the job's own output and no fault. */
const FAULTS = {
  'long-line': { message: 'A line is longer than 1 MiB.', consequence: 'The line is left out.' },
  'too-many-functions': {
    message: 'The log names more than 256 compiled functions.',
    consequence: 'Further ones are left out.',
  },
  'too-many-guards': {
    message: 'More than 32 different guards of one function failed.',
    consequence: 'Further ones are left out.',
  },
  'too-many-breaks': {
    message: 'The log names more than 256 graph breaks.',
    consequence: 'Further ones are left out.',
  },
  'too-many-compilations': {
    message: 'The log has more than 10,000 compilations.',
    consequence: 'The time of further ones is left out.',
  },
  'bad-record': {
    message: 'A record is not valid JSON, as at the end of a file that was cut.',
    consequence: 'The record is left out.',
  },
} as const satisfies Record<string, ProblemText>;

export type CompileFaults = FaultCounter<keyof typeof FAULTS>;
export const newCompileFaults = (): CompileFaults => new FaultCounter(FAULTS, 'line');
