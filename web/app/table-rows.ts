import { groupBy } from '../../src/base/group-by.js';
import { formatWholePercent } from '../../src/base/units.js';
import type { KernelRow, PageData, RankSteps } from '../../src/page/page-data.js';
import { decodeTime } from '../../src/page/page-data.js';
import { largestShares } from '../../src/render/step-time.js';

export interface KernelGroup {
  readonly group: string;
  readonly ms: number;
  readonly share: number;
  readonly count: number;
}

export function groupedKernels(kernels: readonly KernelRow[]): KernelGroup[] {
  const sum = (list: readonly KernelRow[], of: (k: KernelRow) => number) =>
    list.reduce((all, k) => all + of(k), 0);
  const whole = sum(kernels, (k) => k.ms);
  return [...groupBy(kernels, (k) => k.group)]
    .map(([group, list]) => {
      const ms = sum(list, (k) => k.ms);
      return { group, ms, share: whole > 0 ? ms / whole : 0, count: sum(list, (k) => k.count) };
    })
    .sort((a, b) => b.ms - a.ms);
}

export interface RankRow {
  readonly rank: number;
  readonly host: string | null;
  readonly mesh: string | null;
  readonly stepMs: number | null;
  readonly mostly: string | null;
  readonly late: string | null;
}

export function rankRows({ report }: PageData): RankRow[] {
  return report.ranks.map(({ rank, host, coordinates, step_ms, time }) => {
    const straggler = report.stragglers.find((s) => s.ranks.includes(rank));
    const [most] = largestShares(time);
    const mesh = Object.entries(coordinates ?? {}).map(([axis, at]) => `${axis} ${at}`);
    return {
      rank,
      host,
      mesh: mesh.join(', ') || null,
      stepMs: step_ms,
      mostly: most ? `${most.name} ${formatWholePercent(most.share)}` : null,
      late: straggler ? `${straggler.pattern}, ${straggler.cause}` : null,
    };
  });
}

export interface AxisRow {
  readonly axis: string;
  readonly value: string;
  readonly ranks: number;
  readonly lateMs: number;
  readonly mostly: string | null;
}

/** Of many ranks: the latest hosts, stages and other positions in the mesh. */
export const axisRows = ({ report }: PageData): AxisRow[] =>
  (report.many_ranks?.axes ?? []).flatMap(({ name, latest }) =>
    latest.map(({ value, ranks, late_ms, time }) => {
      const [most] = largestShares(time);
      const mostly = most ? `${most.name} ${formatWholePercent(most.share)}` : null;
      return { axis: name, value, ranks, lateMs: late_ms, mostly };
    }),
  );

export interface StepRow {
  readonly step: number;
  /** ms. */
  readonly mean: number;
  readonly slowest: number;
  readonly longest: number;
}

/** Own time, where there is communication: the step itself is as long on all ranks. */
const ownTime = ({ metrics }: RankSteps) => metrics.find((m) => m.name === 'own') ?? metrics[0]!;

/** The step in which a rank took longest by itself. Null: none was recorded. */
export function slowestStep(rankSteps: RankSteps | null, rank: number): number | null {
  const row = rankSteps?.ranks.indexOf(rank) ?? -1;
  if (!rankSteps || row < 0) return null;
  const { steps } = rankSteps;
  const timeOf = (s: number) => decodeTime(ownTime(rankSteps), row * steps.length + s);
  const known = steps.flatMap((_, s) => (Number.isNaN(timeOf(s)) ? [] : [s]));
  return known.length === 0 ? null : steps[known.reduce((a, b) => (timeOf(b) > timeOf(a) ? b : a))]!;
}

export function stepRows({ rankSteps }: PageData): StepRow[] {
  if (!rankSteps) return [];
  const { steps, ranks, metrics } = rankSteps;
  const whole = metrics.find((m) => m.name === 'step')!;
  const own = ownTime(rankSteps);
  return steps.map((step, s) => {
    const cells = ranks.map((_, r) => r * steps.length + s);
    const known = cells.filter((cell) => !Number.isNaN(decodeTime(whole, cell)));
    const slowest = known.reduce((a, b) => (decodeTime(own, b) > decodeTime(own, a) ? b : a), known[0]!);
    const sum = known.reduce((all, cell) => all + decodeTime(whole, cell), 0);
    return {
      step,
      mean: sum / known.length / 1e6,
      slowest: ranks[Math.floor(slowest / steps.length)]!,
      longest: decodeTime(own, slowest) / 1e6,
    };
  });
}
