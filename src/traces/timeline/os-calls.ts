import { type Spans, unionOf } from '../../base/intervals.js';
import type { Trace } from '../../model/trace.js';

/** A call of the operating system on a training thread. Only nsys records them. */
export interface OsCall {
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

/** As the reader of nsys names them. */
const OS_RUNTIME = 'os_runtime';

/** In the order of the file. */
export function osCalls(trace: Trace, threads: readonly number[]): readonly OsCall[] {
  const { data } = trace;
  const isCall = data.kinds.map((k) => k.categoryName === OS_RUNTIME);
  if (!isCall.includes(true)) return [];
  const calls: OsCall[] = [];
  for (let row = 0; row < data.rows; row++) {
    if (!isCall[data.kind[row]!] || !threads.includes(data.track[row]!)) continue;
    const start = data.ts[row]!;
    calls.push({ name: trace.name(row), start, end: start + Math.max(0, data.dur[row]!) });
  }
  return calls;
}

/** Calls that read bytes from a file or a socket. Polls and locks are left out: CUDA and NCCL wait in them too. */
const READS =
  /^(?:p?read(?:v|v2|64)?|fread(?:_unlocked)?|recv(?:from|msg|mmsg)?|open(?:at)?(?:64)?|fopen(?:64)?)$/;
/** Shorter ones are ordinary: a pipe, /proc, the page cache. */
const LEAST_NS = 100_000;

/** When the training threads waited for bytes. */
export const readSpans = (calls: readonly OsCall[]): Spans =>
  unionOf(
    calls
      .filter((c) => READS.test(c.name) && c.end - c.start >= LEAST_NS)
      .map((c) => [c.start, c.end] as const)
      .sort((a, b) => a[0] - b[0]),
  );
