import { inBlocks } from '../base/blocks.js';
import { Category } from './category.js';
import type { TraceData } from './trace-data.js';

/** First start and last end of events, ns of the trace. Without any: from infinity to minus infinity. */
export interface Extents {
  readonly from: number;
  readonly to: number;
  /** Of host calls alone, by track. */
  readonly hostFrom: Float64Array;
  readonly hostTo: Float64Array;
}

const HOST: readonly number[] = [
  Category.cpuOp,
  Category.annotation,
  Category.pythonFunction,
  Category.runtime,
  Category.driver,
  Category.other,
];
/** Kinds of calls on the host. */
export const isHostCall = (kind: { readonly phase: string; readonly category: Category }): boolean =>
  kind.phase === 'X' && HOST.includes(kind.category);

const TIMED = 1;
const ON_HOST = 2;

export function findExtents({ rows, kind, kinds, track, tracks, ts, dur }: TraceData): Extents {
  const isTimed = (phase: string, c: Category) =>
    phase !== 'M' && phase !== '' && c !== Category.span && c !== Category.flow;
  const sorts = Uint8Array.from(
    kinds,
    (k) => (isTimed(k.phase, k.category) ? TIMED : 0) | (isHostCall(k) ? ON_HOST : 0),
  );
  const hostFrom = new Float64Array(tracks.length).fill(Number.POSITIVE_INFINITY);
  const hostTo = new Float64Array(tracks.length).fill(Number.NEGATIVE_INFINITY);
  const whole = new Float64Array([Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]);
  inBlocks(rows, (first, last) => {
    let [from, to] = [whole[0]!, whole[1]!];
    for (let row = first; row < last; row++) {
      const sort = sorts[kind[row]!]!;
      if (sort === 0) continue;
      const start = ts[row]!;
      const end = start + dur[row]!;
      if ((sort & TIMED) !== 0) {
        if (start < from) from = start;
        if (end > to) to = end;
      }
      if ((sort & ON_HOST) === 0) continue;
      const t = track[row]!;
      if (start < hostFrom[t]!) hostFrom[t] = start;
      if (end > hostTo[t]!) hostTo[t] = end;
    }
    whole[0] = from;
    whole[1] = to;
  });
  return { from: whole[0]!, to: whole[1]!, hostFrom, hostTo };
}
