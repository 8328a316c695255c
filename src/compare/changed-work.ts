import { groupBy } from '../base/group-by.js';
import { mean } from '../base/statistics.js';
import { type Ms, ms, type Share, share } from '../base/units.js';
import type { ReportLine } from '../report/report.js';
import type { ChangedLine, ChangedTime, ChangedWork, WorkChange } from './compare-report.js';
import type { RunProfile, WorkTotal } from './run-profile.js';

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

/** Smaller changes of a line's share are noise of the sampling. */
const MATTERS_OF_LINE = 0.03;

/**
 * Lines of the job that hold the training thread longer or less. A line is the same if its function and text are: its number
 * moves when lines above it change.
 */
export function changedLines(before: readonly RunProfile[], after: readonly RunProfile[]): ChangedLine[] {
  const [left, right] = [before, after].map(linesOf);
  if (left!.size === 0 || right!.size === 0) return [];
  return [...new Set([...left!.keys(), ...right!.keys()])]
    .map((key) => {
      const [was, is] = [left!.get(key) ?? null, right!.get(key) ?? null];
      const { file, line, function: name, source } = (is ?? was)!.line;
      return {
        name: `${file}:${line}`,
        function: name,
        source,
        before_ms: was?.ms ?? null,
        after_ms: is?.ms ?? null,
        before_share: was?.share ?? null,
        after_share: is?.share ?? null,
      };
    })
    .filter((c) => Math.abs((c.after_share ?? 0) - (c.before_share ?? 0)) >= MATTERS_OF_LINE)
    .sort((a, b) => difference(b) - difference(a));
}

export const difference = (c: ChangedTime): number => Math.abs((c.after_ms ?? 0) - (c.before_ms ?? 0));

interface SideLine {
  readonly line: ReportLine;
  readonly share: Share;
  readonly ms: Ms;
}

function linesOf(runs: readonly RunProfile[]): ReadonlyMap<string, SideLine> {
  const sampled = runs.filter(({ report }) => report.host_lines.length > 0);
  const lines = sampled.flatMap(({ report }) =>
    report.host_lines.map((line) => ({ line, step: report.step.ms ?? 0 })),
  );
  const same = groupBy(lines, ({ line }) => JSON.stringify([line.function, line.source.trim()]));
  return new Map(
    [...same].map(([key, group]) => [
      key,
      {
        line: group[0]!.line,
        share: share(group.reduce((sum, { line }) => sum + line.share, 0) / sampled.length),
        ms: ms(group.reduce((sum, { line, step }) => sum + line.share * step, 0) / sampled.length),
      },
    ]),
  );
}

/** Named times of both sides, largest change first. */
export function changedTimes(
  before: readonly (readonly { readonly name: string; readonly ms: Ms }[])[],
  after: readonly (readonly { readonly name: string; readonly ms: Ms }[])[],
): ChangedTime[] {
  const sideOf = (runs: typeof before) =>
    new Map([...groupBy(runs.flat(), (p) => p.name)].map(([name, of]) => [name, mean(of.map((p) => p.ms))]));
  const [left, right] = [sideOf(before), sideOf(after)];
  // A history keeps no phases: nothing is new then.
  if (left.size === 0 || right.size === 0) return [];
  return [...new Set([...left.keys(), ...right.keys()])]
    .map((name) => ({
      name,
      before_ms: left.get(name) ?? null,
      after_ms: right.get(name) ?? null,
    }))
    .sort((a, b) => difference(b) - difference(a));
}
