import { groupBy } from '../../base/group-by.js';
import { largest, median, smallest } from '../../base/statistics.js';
import { jobProgress, type RankDump } from './progress.js';

/** A rank for which the others wait in most collectives, as their times on the GPU show. */
export interface OftenLast {
  readonly rank: number;
  readonly times: number;
  /** Collectives of its groups in which somebody was clearly last. */
  readonly of: number;
  /** How long the first rank waited for it, in the median. */
  readonly waitMs: number;
}

/** With fewer it may be chance. */
const LEAST_CALLS = 10;
/** Of the collectives in which somebody was last; of two ranks one is last in half of them anyway. */
const MOSTLY = 0.7;
/** The last rank spends least time in a collective. Somebody is clearly last if the first spends half as much again. */
const CLEARLY = 1.5;

/** Needs TORCH_NCCL_ENABLE_TIMING. Null: not recorded, or no rank stands out. */
export function oftenLast(dumps: readonly RankDump[]): OftenLast | null {
  const job = jobProgress(dumps);
  const timed = dumps.flatMap(({ rank, dump }) =>
    dump.calls.flatMap((c) =>
      c.peer === null && c.isDone && c.durationMs !== null && c.durationMs > 0
        ? [{ rank, key: JSON.stringify([c.group, c.sequence]), group: c.group, ms: c.durationMs }]
        : [],
    ),
  );
  const last = new Map<number, number[]>();
  const clear = new Map<number, number>();
  for (const calls of groupBy(timed, (c) => c.key).values()) {
    const members = job.members(calls[0]!.group);
    if (members.length < 2 || calls.length < members.length) continue;
    const [least, most] = [smallest(calls.map((c) => c.ms)), largest(calls.map((c) => c.ms))];
    const shortest = calls.filter((c) => c.ms === least);
    if (most < CLEARLY * least || shortest.length > 1) continue;
    for (const { rank } of calls) clear.set(rank, (clear.get(rank) ?? 0) + 1);
    const [{ rank }] = shortest as [(typeof calls)[number]];
    last.set(rank, [...(last.get(rank) ?? []), most - least]);
  }
  const [top] = [...last].sort((a, b) => b[1].length - a[1].length);
  if (!top) return null;
  const [rank, waits] = top;
  const of = clear.get(rank)!;
  return of >= LEAST_CALLS && waits.length >= MOSTLY * of
    ? { rank, times: waits.length, of, waitMs: median(waits) }
    : null;
}
