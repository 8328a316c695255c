import type { TraceData } from '../model/trace-data.js';

/** Where the times of a rewritten trace count from. */
export interface Origin {
  /** ns since 1970, for the field that Kineto has for this. */
  readonly baseTimeNanoseconds: bigint;
  /** ns from there to the base of the trace. */
  readonly toBase: number;
}

const DAY_NS = 86_400_000_000_000n;
const SECOND_NS = 1_000_000_000n;

/**
 * Perfetto reads times as doubles, which hold µs since 1970 to 0.25 µs: calls that nest seem to overlap then. Such times count from
 * a second of the day before instead, as in traces of newer versions of torch. Null: a double holds the times as they are.
 */
export function originOf({ baseNs, ts, header }: TraceData): Origin | null {
  if (baseNs <= BigInt(Number.MAX_SAFE_INTEGER)) return null;
  const rest = Number(baseNs % 1000n);
  // Whole µs are read as integers.
  if (!ts.some((time) => (time + rest) % 1000 !== 0 && !Number.isNaN(time))) return null;
  // Some events may be before the base.
  const shift = ((baseNs - DAY_NS) / SECOND_NS) * SECOND_NS;
  return {
    baseTimeNanoseconds: shift + BigInt(header.baseTimeNanoseconds ?? '0'),
    toBase: Number(baseNs - shift),
  };
}
