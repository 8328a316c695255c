import { groupBy } from '../base/group-by.js';
import { type Ms, ms } from '../base/units.js';
import type { ChangedWork, WorkChange } from './compare-report.js';
import type { WorkTotal } from './run-profile.js';

/** Smaller changes, as a share of the step before, are not reported. */
const MATTERS = 0.005;
/** Counts and times that differ by less are the same. */
const SAME = 0.05;
const MAX_ROWS = 100;

interface Pair {
  readonly name: string;
  readonly shape: string | null;
  readonly before: WorkTotal | null;
  readonly after: WorkTotal | null;
  /** Both sides have the name, but with other shapes. */
  readonly isReshaped?: boolean;
}

/** Kernels or operators of two sides, matched by name and shape, not by position. Largest change first. */
export function changedWork(
  before: readonly (readonly WorkTotal[])[],
  after: readonly (readonly WorkTotal[])[],
  step: Ms,
): ChangedWork[] {
  const [left, right] = [before, after].map((runs) => meanOf(runs.filter((run) => run.length > 0)));
  if (left!.length === 0 || right!.length === 0) return [];
  return reshaped(matched(left!, right!))
    .map(changeOf)
    .filter((c) => Math.abs(c.after_ms - c.before_ms) >= MATTERS * step)
    .sort((a, b) => Math.abs(b.after_ms - b.before_ms) - Math.abs(a.after_ms - a.before_ms))
    .slice(0, MAX_ROWS);
}

const keyOf = ({ name, shape }: { name: string; shape: string | null }) => JSON.stringify([name, shape]);

/** Runs of a side together. What only some of them have counts with its share. */
function meanOf(runs: readonly (readonly WorkTotal[])[]): WorkTotal[] {
  return [...groupBy(runs.flat(), keyOf).values()].map((same) => ({
    name: same[0]!.name,
    shape: same[0]!.shape,
    count: same.reduce((sum, w) => sum + w.count, 0) / runs.length,
    ms: ms(same.reduce((sum, w) => sum + w.ms, 0) / runs.length),
  }));
}

function matched(before: readonly WorkTotal[], after: readonly WorkTotal[]): Pair[] {
  const byKey = new Map(after.map((work) => [keyOf(work), work]));
  const pairs: Pair[] = before.map((work) => {
    const { name, shape } = work;
    const same = byKey.get(keyOf(work)) ?? null;
    byKey.delete(keyOf(work));
    return { name, shape, before: work, after: same };
  });
  for (const work of byKey.values())
    pairs.push({ name: work.name, shape: work.shape, before: null, after: work });
  return pairs;
}

/** Where a name is on both sides with other shapes, its shapes without a partner are one row together. */
function reshaped(pairs: readonly Pair[]): Pair[] {
  return [...groupBy(pairs, (pair) => pair.name).values()].flatMap((same) => {
    const alone = same.filter((pair) => !pair.before || !pair.after);
    const [before, after] = (['before', 'after'] as const).map((side) => together(alone, side));
    if (!before || !after) return same;
    const both = same.filter((pair) => pair.before && pair.after);
    return [...both, { name: same[0]!.name, shape: null, before, after, isReshaped: true }];
  });
}

function together(pairs: readonly Pair[], side: 'before' | 'after'): WorkTotal | null {
  const works = pairs.flatMap((pair) => pair[side] ?? []);
  if (works.length === 0) return null;
  return {
    name: works[0]!.name,
    shape: null,
    count: works.reduce((sum, w) => sum + w.count, 0),
    ms: ms(works.reduce((sum, w) => sum + w.ms, 0)),
  };
}

function changeOf(pair: Pair): ChangedWork {
  const { name, shape, before, after } = pair;
  return {
    name,
    shape,
    change: kindOf(pair),
    before_ms: before?.ms ?? ms(0),
    after_ms: after?.ms ?? ms(0),
    before_count: before?.count ?? 0,
    after_count: after?.count ?? 0,
  };
}

function kindOf({ before, after, isReshaped }: Pair): WorkChange {
  if (!before) return 'new';
  if (!after) return 'gone';
  if (isReshaped) return 'reshaped';
  const often = after.count / before.count;
  const long = after.ms / after.count / (before.ms / before.count);
  // What changed more of the two explains the difference.
  if (Math.abs(Math.log(often)) > Math.max(SAME, Math.abs(Math.log(long))))
    return often > 1 ? 'more-often' : 'less-often';
  return long > 1 ? 'longer' : 'shorter';
}
