import { lateSentence } from '../answers/kit/late-words.js';
import { ns, seconds, share, toMs, toUs } from '../base/units.js';
import type { RankView } from '../diagnosis/ranks/rank-view.js';
import { type Iteration, iterationWords, type JobTime, outsidePerStep } from '../facts/job-time.js';
import { sharesOfClasses, totals } from '../facts/time-class.js';
import type { Comparison } from '../run/compare.js';
import type {
  ReportCollectives,
  ReportHeat,
  ReportIteration,
  ReportJob,
  ReportRank,
  ReportStep,
  ReportStraggler,
  TimeShares,
} from './report.js';

/** All of the process's time, largest part first. */
export function jobOf(job: JobTime | null): ReportJob | null {
  if (!job || !(job.wall > 0)) return null;
  const parts = [
    { name: 'steps', ns: job.training, count: job.steps, own: false },
    { name: 'start-up', ns: job.startUp - (job.compiledFirst ?? 0), count: 1, own: false },
    { name: 'end', ns: job.end, count: 1, own: false },
    ...withFirstCompile(job),
  ];
  const phases = parts
    .filter((p) => p.ns > 0)
    .sort((a, b) => b.ns - a.ns)
    .map(({ name, ns, count, own }) => ({
      name,
      s: seconds(ns / 1e9),
      share: share(ns / job.wall),
      count,
      sampled: own,
    }));
  return { wall_s: seconds(job.wall / 1e9), phases };
}

/** The first compilation may come before or in the first step: it is compiling in both. */
function withFirstCompile({ phases, compiledFirst = ns(0) }: JobTime) {
  if (compiledFirst === 0) return phases;
  const known = phases.find((p) => p.name === 'compile');
  const compile = { count: 0, own: false, ...known, name: 'compile', ns: (known?.ns ?? 0) + compiledFirst };
  return [...phases.filter((p) => p !== known), { ...compile, count: compile.count + 1 }];
}

/** What one step is. */
export const iterationReport = (iteration: Iteration | null): ReportIteration | null =>
  iteration && {
    optimizer_steps: iteration.optimizerSteps,
    optimizers: iteration.optimizers,
    backward_passes: iteration.backwardPasses,
    varies: iteration.varies,
    rollout: iteration.rollout,
    text: iterationWords(iteration),
  };

/** Named parts of the whole step. On a GPU the job's own phases may be any class, so they are not among them. */
export function partsOf(view: RankView): ReportStep['parts'] {
  const { job } = view;
  if (!job) return [];
  const onHost = view.divided.phases?.allHost === true;
  const named = job.phases.filter((p) => p.recurs && (!p.own || onHost));
  return named.map((p) => ({ name: p.name, ms: toMs(ns(p.ns / job.steps)), between: !p.own }));
}

/** Shares of the whole step. What the host does between training steps is host time, and compiling is compiling. */
export function timeOf({ time, job }: RankView): TimeShares {
  const compile = outsidePerStep(job, 'compile');
  const other = outsidePerStep(job) - compile;
  return sharesOfClasses(
    totals((c) => ns(time[c] + (c === 'idle_compile' ? compile : c === 'idle_host' ? other : 0))),
  );
}

/** The parts of the report that come from comparing ranks. */

export function stragglersOf(comparison: Comparison | null): ReportStraggler[] {
  return (comparison?.late ?? []).map((late) => ({
    ranks: late.ranks,
    pattern: late.pattern,
    cause: late.cause,
    cost_ms: toMs(late.cost),
    cost_high_ms: late.mayCost === undefined ? null : toMs(late.mayCost),
    confidence: late.confidence,
    sentence: lateSentence(late),
  }));
}

export function heatOf(comparison: Comparison | null): ReportHeat | null {
  if (!comparison?.table) return null;
  const { table, lateness } = comparison;
  return {
    steps: table.steps,
    rows: table.ranks.map((rank, r) => ({ rank, late_ms: Array.from(lateness[r]!, (t) => toMs(ns(t))) })),
  };
}

/** By rank. */
export function coordinatesOf(comparison: Comparison | null): ReadonlyMap<number, ReportRank['coordinates']> {
  const table = comparison?.table;
  return new Map(table?.ranks.map((rank, i) => [rank, table.coordinates[i] ?? null]));
}

/** By rank. */
export function clocksOf(comparison: Comparison | null): ReadonlyMap<number, ReportRank['clock']> {
  const clocks = new Map<number, ReportRank['clock']>();
  for (const { rank, component, offset, error } of (comparison?.traced ?? comparison)?.clocks.ranks ?? []) {
    if (component !== 0 || clocks.has(rank)) continue;
    clocks.set(rank, { offset_us: toUs(offset), error_us: toUs(error) });
  }
  return clocks;
}

export function collectivesOf(comparison: Comparison | null): ReportCollectives | null {
  if (!comparison) return null;
  const { matched, waits, table } = comparison.traced ?? comparison;
  const steps = table?.steps.length ?? 1;
  const perStep = (total: number, ranks: number) => toMs(ns(total / Math.max(1, ranks) / steps));
  const sumOver = (key: 'exposedWait' | 'exposedTransfer') => waits.ranks.reduce((sum, w) => sum + w[key], 0);
  return {
    matched: matched.length,
    unmatched: matched.unmatched,
    wait_ms: perStep(sumOver('exposedWait'), waits.ranks.length),
    transfer_ms: perStep(sumOver('exposedTransfer'), waits.ranks.length),
    groups: matched.groups.map((group, g) => ({
      name: group.name,
      ranks: group.captured.map((index) => matched.ranks[index]!),
      size: group.size,
      matched: group.instances,
      confidence: group.confidence,
      wait_ms: perStep(waits.groups[g]!.wait, group.captured.length),
      transfer_ms: perStep(waits.groups[g]!.transfer, group.captured.length),
    })),
  };
}
