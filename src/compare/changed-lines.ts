import { groupBy } from '../base/group-by.js';
import { mean } from '../base/statistics.js';
import { type Ms, ms, type Share, share } from '../base/units.js';
import type { ReportLine } from '../report/report.js';
import type { ChangedLine, ChangedTime } from './compare-report.js';
import type { RunProfile } from './run-profile.js';

/** Smaller changes of a line's share are noise of the sampling. */
const MATTERS = 0.03;

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
    .filter((c) => Math.abs((c.after_share ?? 0) - (c.before_share ?? 0)) >= MATTERS)
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
