import { groupBy } from '../base/group-by.js';
import { largest, mean } from '../base/statistics.js';
import { type Ms, ms, ns, toMs } from '../base/units.js';
import type { RankView } from '../diagnosis/ranks/rank-view.js';
import { betweenSteps, isMeasured } from '../facts/step-facts.js';
import { sharesOfClasses, totals } from '../facts/time-class.js';
import { oddRanks } from '../run/compare.js';
import { countFiles } from './files-read.js';
import type { Report, ReportInput, ReportManyRanks, ReportRank, TimeShares } from './report.js';

/** Up to here a report lists every rank, file and group. */
export const MANY = 256;
/** What is listed of more ranks. */
const MAX_RANKS = 64;
const MAX_GROUPS = 64;
/** Of each axis. A pipeline rarely has more stages. */
const MAX_VALUES = 16;
/** A finding about more ranks is about none in particular. */
const FEW = 16;

/** The report of a run with many ranks: the odd ranks in full, the others by host and axis. Others stay as they are. */
export function inBrief(report: Report): Report {
  if (report.ranks.length <= MANY) return report;
  const shown = report.ranks.map(({ rank, time, step_ms }) => ({ rank, time, step: step_ms }));
  const odd = oddRanks(shown, namedIn(report), MAX_RANKS);
  const { heat, collectives, inputs } = report;
  const others = heat?.rows.filter((row) => !odd.has(row.rank)) ?? [];
  return {
    ...report,
    ranks: report.ranks.filter((r) => odd.has(r.rank)),
    many_ranks: {
      ranks: report.ranks.length,
      files: countFiles(inputs),
      groups: collectives?.groups.length ?? 0,
      latest_other_ms: (heat?.steps ?? []).map((_, s) =>
        largest([ms(0), ...others.map((r) => r.late_ms[s]!)]),
      ),
      axes: axesOf(report),
    },
    heat: heat && { ...heat, rows: heat.rows.filter((row) => odd.has(row.rank)) },
    collectives: collectives && {
      ...collectives,
      groups: collectives.groups.toSorted((a, b) => b.wait_ms - a.wait_ms).slice(0, MAX_GROUPS),
    },
    inputs: inputs.filter((input) => isWorthListing(input, odd)),
  };
}

const isWorthListing = ({ rank, problems }: ReportInput, odd: ReadonlySet<number>) =>
  rank === null || odd.has(rank) || problems.some((p) => p.count > 0);

/** Ranks that the report names. */
const namedIn = (report: Report): number[] => [
  ...report.stragglers.flatMap((s) => s.ranks.slice(0, FEW)),
  ...report.findings.flatMap((f) => (f.ranks.length <= FEW ? f.ranks : [])),
  ...(report.critical_path?.by_rank.slice(0, FEW).map((r) => r.rank) ?? []),
  report.ranks[0]!.rank,
];

/** By host, then by each axis of the mesh: pipeline stages, tensor parallel ranks, … */
function axesOf({ ranks, heat }: Report): ReportManyRanks['axes'] {
  const lateOf = new Map(heat?.rows.map((row) => [row.rank, mean(row.late_ms)]));
  const names = new Set(ranks.flatMap((r) => Object.keys(r.coordinates ?? {})));
  const axes: readonly (readonly [string, (r: ReportRank) => string | null])[] = [
    ['host', (r) => r.host],
    ...[...names].map(
      (name) => [name, (r: ReportRank) => r.coordinates?.[name]?.toString() ?? null] as const,
    ),
  ];
  return axes.flatMap(([name, keyOf]) => {
    const known = ranks.filter((r) => keyOf(r) !== null);
    const groups = [...groupBy(known, (r) => keyOf(r)!)];
    // On an axis with one value all ranks are alike, on one with as many values as ranks each is alone.
    if (groups.length < 2 || groups.length === ranks.length) return [];
    const values = groups.map(([value, members]) => ({
      value,
      ranks: members.length,
      late_ms: rounded(mean(members.map((r) => lateOf.get(r.rank) ?? 0)) as Ms),
      time: meanShares(members),
    }));
    const shown = values.sort((a, b) => b.late_ms - a.late_ms).slice(0, MAX_VALUES);
    return [{ name, values: values.length, latest: shown }];
  });
}

const rounded = (late: Ms) => ms(Math.round(late * 1000) / 1000);

const meanShares = (ranks: readonly ReportRank[]): TimeShares =>
  sharesOfClasses(totals((name) => mean(ranks.map((r) => r.time[name]))));

/** More are averaged in groups: a report stays small. */
const MAX_TIMES = 400;

/** Fewer stretches show less than the steps themselves. */
const ENOUGH_PACES = 5;

/**
 * The step times that `step.ms` is the mean of, in order: recorded steps without the profiler's cost, with the time between
 * steps spread evenly. A log has more steps than a trace.
 */
export function stepTimes(view: RankView): readonly Ms[] {
  const log = view.source === 'trace' ? view.log : view;
  const measured = log && isMeasured(view.step) ? log.facts : null;
  // With bursts of waiting, a few recorded steps differ far more than the stretches between them, which hold all steps.
  const isPaced = measured !== null && measured.paces.length >= ENOUGH_PACES;
  const periods = isPaced ? measured.paces : (measured ?? view.facts).steps.periods;
  if (periods.length === 0) return [];
  const size = Math.ceil(periods.length / MAX_TIMES);
  const groups = Array.from({ length: Math.floor(periods.length / size) }, (_, g) =>
    mean(periods.slice(g * size, (g + 1) * size)),
  );
  const usual = mean(groups);
  const between = betweenSteps(view.step);
  // Steps of no length, in damaged traces, are all alike.
  const timeOf = (time: number) => (usual > 0 ? (time * view.step.unprofiled) / usual : view.step.unprofiled);
  return groups.map((time) => toMs(ns(timeOf(time) + between)));
}
