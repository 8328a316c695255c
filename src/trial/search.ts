import { largest, smallest } from '../base/statistics.js';

/** A number to search: doubled while that helps, or halved, then refined between the best one and its neighbors. */
export interface SearchState {
  readonly start: number;
  /** The number that the job itself uses. It is not tried again, nor is anything below. */
  readonly now: number;
  readonly most: number;
  /** Gains so far, step time before divided by after. Null: the turn gave none. */
  readonly gains: ReadonlyMap<number, number | null>;
}

/** Fewer workers, threads or batches that come this close to the best are better: each takes memory. */
const NEARLY = 1.05;
/** Numbers that make steps so much slower than in the job as it is, and others of their kind, are hopeless. */
const HOPELESS = 0.9;
/** A neighbor that is slower than the best by more than this has no better one next to it. */
const CLOSE = 1.3;
/** Neighbors that are closer to each other than this are not refined. */
const APART = 1.4;
/** Turns cost minutes, and the last ones gain least. */
const MOST_TRIED = 7;

/** The next number to try. Null: the search is over. */
export function nextNumber({ start, now, most, gains }: SearchState): number | null {
  if (!gains.has(start)) return start;
  const tried = [...gains.keys()].sort((a, b) => a - b);
  const [least, greatest] = [tried[0]!, tried.at(-1)!];
  const of = (value: number) => gains.get(value) ?? 0;
  const areHopeless = tried.every((value) => of(value) < HOPELESS);
  if (tried.length >= (areHopeless ? 2 : MOST_TRIED)) return null;
  const ifNew = (value: number) =>
    value > now && value >= 1 && value <= most && !gains.has(value) ? value : null;
  const best = bestNumber(gains) ?? least;
  const up = best === greatest && !areHopeless ? ifNew(Math.min(2 * greatest, most)) : null;
  const down = best === least ? ifNew(Math.max(Math.floor(least / 2), now + 1)) : null;
  if (up !== null || down !== null) return up ?? down;
  if (of(best) < NEARLY) return null;
  const at = tried.indexOf(best);
  // A larger number that is as good shows that the rest of the step limits it, not that there is a peak between them.
  for (const other of [tried[at + 1], tried[at - 1]]) {
    if (other === undefined || of(other) * CLOSE < of(best) || of(other) * NEARLY >= of(best)) continue;
    const between = ifNew(Math.round((best + other) / 2));
    if (between !== null && Math.max(best, other) >= APART * Math.min(best, other)) return between;
  }
  return null;
}

/** The smallest number that is nearly as good as the best. Null: none was measured. */
export function bestNumber(gains: ReadonlyMap<number, number | null>): number | null {
  const measured = [...gains].flatMap(([value, gain]) => (gain === null ? [] : [{ value, gain }]));
  if (measured.length === 0) return null;
  const most = largest(measured.map(({ gain }) => gain));
  return smallest(measured.filter(({ gain }) => gain * NEARLY >= most).map(({ value }) => value));
}
