import { mean } from '../base/statistics.js';
import type { AcrossRanks, RankView } from '../diagnosis/run-facts.js';
import { sumOfClasses, type TimeByClass, totals } from '../facts/time-class.js';
import { atPace } from '../logs/pace.js';
import { causeWords, describeRanks } from '../rules/ranks/w01-late-rank.js';
import type { Comparison } from '../run/compare.js';
import type { LateRanks } from '../run/lateness/late-ranks.js';
import type { Report } from './report.js';
import type { Decision } from './verdict-words.js';

/** What several ranks together show, as the report has it. */

export function acrossOf(
  comparison: Comparison | null,
  places: ReadonlyMap<number, { readonly host: string | null }>,
): AcrossRanks | null {
  if (!comparison?.table) return null;
  const { matched, slowGroups, late, played, pace } = comparison;
  return {
    ...{ late, step: pace, overlap: played?.withOverlap ?? null },
    links: slowGroups.map(({ group, ...slow }) => {
      const ranks = ranksOf(matched, group);
      const named = [...new Set(ranks.map((r) => places.get(r)?.host ?? null))].filter((h) => h !== null);
      return { ...slow, group: matched.groups[group]!.name, ranks, hosts: named };
    }),
  };
}

/** Numbers of the captured ranks of a group. */
const ranksOf = (matched: Comparison['matched'], group: number) =>
  matched.groups[group]!.captured.map((place) => matched.ranks[place]!);

/** The rank that the critical path goes through most, with the time of the whole path. */
export function criticalView(comparison: Comparison | null, views: readonly RankView[]): RankView | null {
  const critical = comparison?.critical;
  const view = critical && views.find((v) => v.rank === critical.rank);
  if (!critical || !view) return null;
  // Recorded times become those without the profiler as they do on that rank.
  const corrected = totals((c) => {
    const recorded = view.facts.time[c];
    return recorded > 0 ? critical.time[c] * (view.time[c] / recorded) : critical.time[c];
  });
  return sumOfClasses(corrected) > 0 ? { ...view, time: ofStep(view, corrected) } : null;
}

/** Classes of recorded steps as parts of a step. */
function ofStep({ step, facts }: RankView, time: TimeByClass): TimeByClass {
  const scaled = (to: number) => totals((c) => (time[c] * to) / sumOfClasses(time));
  // In a log the steps that were not recorded may take longer or shorter, by something that happens now and then.
  return facts.phases ? atPace(scaled(mean([...facts.steps.periods])), step) : scaled(step);
}

/** Exposed communication of a rank divided into waiting and transfer. */
export function withWaiting(view: RankView, comparison: Comparison | null): RankView {
  const logged = view.facts.phases && timeFromLog(view, comparison);
  if (logged) return logged;
  const share = comparison?.waitShare.get(view.rank) ?? 0;
  if (share === 0) return view;
  const { time } = view;
  const waiting = (time.comms_transfer + time.idle_comms) * share;
  return {
    ...view,
    time: {
      ...time,
      comms_wait: time.comms_wait + waiting,
      comms_transfer: time.comms_transfer * (1 - share),
      idle_comms: time.idle_comms * (1 - share),
    },
  };
}

/** Of a log waiting may lie in any phase: the comparison has taken it out of them step by step. */
function timeFromLog(view: RankView, comparison: Comparison | null): RankView | null {
  const { table } = comparison ?? {};
  const place = table?.ranks.indexOf(view.rank) ?? -1;
  if (!table || place < 0) return null;
  const time = totals((c) => table.time[place]!.reduce((ns, t) => ns + t[c], 0));
  return sumOfClasses(time) > 0 ? { ...view, time: ofStep(view, time) } : null;
}

/** The share of the step that goes to waiting for who computes longer than the others. */
export function lateComputingOf(comparison: Comparison | null): number {
  const { late = [], pace = 0 } = comparison ?? {};
  const costs = late.filter((l) => l.cause === 'gpu').map((l) => l.cost);
  return pace > 0 ? costs.reduce((sum, ns) => sum + ns, 0) / pace : 0;
}

const ms = (ns: number) => Math.round(ns / 1e3) / 1e3;

export function stragglersOf(comparison: Comparison | null): Report['stragglers'][number][] {
  return (comparison?.late ?? []).map((late) => ({
    ...{ ranks: [...late.ranks], pattern: late.pattern, cause: late.cause },
    ...{ cost_ms: ms(late.cost), confidence: late.confidence, sentence: sentenceOf(late) },
  }));
}

const OFTEN = { persistent: ' every step', spike: ' in single steps', periodic: ' every few steps' } as const;

function sentenceOf(late: LateRanks): string {
  const who = describeRanks(late);
  const often = late.pattern in OFTEN ? OFTEN[late.pattern as keyof typeof OFTEN] : '';
  const capital = who[0]!.toUpperCase() + who.slice(1);
  const many = late.ranks.length > 1;
  return late.ranks.length === 0
    ? `${capital} comes ${ms(late.cost).toFixed(1)} ms late: ${causeWords(late)} is uneven`
    : `${capital} ${many ? 'come' : 'comes'} late${often} and ${many ? 'cost' : 'costs'} ${ms(late.cost).toFixed(1)} ms a step: ${causeWords(late)}`;
}

export function heatOf(comparison: Comparison | null): Report['heat'] {
  if (!comparison?.table) return null;
  const { table, lateness } = comparison;
  return {
    steps: [...table.steps],
    rows: table.ranks.map((rank, r) => ({ rank, late_ms: Array.from(lateness[r]!, ms) })),
  };
}

export function coordinatesOf(
  comparison: Comparison | null,
  rank: number,
): Report['ranks'][number]['coordinates'] {
  const { table } = comparison ?? {};
  const place = table?.ranks.indexOf(rank) ?? -1;
  return (place >= 0 ? table!.coordinates[place] : null) ?? null;
}

export function clockOf(
  comparison: Comparison | null,
  rank: number,
): { offset_us: number; error_us: number } | null {
  const clock = comparison?.clocks.ranks.find((c) => c.rank === rank && c.component === 0);
  return clock ? { offset_us: ms(clock.offset), error_us: ms(clock.error) } : null;
}

export function collectivesOf(comparison: Comparison | null): Report['collectives'] {
  if (!comparison) return null;
  const { matched, waits, table } = comparison;
  const steps = table?.steps.length ?? 1;
  const ranks = waits.ranks.length;
  const mean = (pick: (w: (typeof waits.ranks)[number]) => number) =>
    ms(waits.ranks.reduce((n, w) => n + pick(w), 0) / ranks / steps);
  return {
    ...{ matched: matched.length, unmatched: matched.unmatched },
    ...{ wait_ms: mean((w) => w.exposedWait), transfer_ms: mean((w) => w.exposedTransfer) },
    groups: matched.groups.map((group, g) => ({
      ...{ name: group.name, ranks: ranksOf(matched, g), size: group.size },
      ...{ matched: group.instances, confidence: group.confidence },
      wait_ms: ms(waits.groups[g]!.wait / Math.max(1, group.captured.length) / steps),
      transfer_ms: ms(waits.groups[g]!.transfer / Math.max(1, group.captured.length) / steps),
    })),
  };
}

/** A late rank worth naming is part of the answer; one that was not captured may be behind waiting that nobody explains. */
export function withStragglers(decision: Decision, comparison: Comparison | null): Decision {
  const worst = comparison?.late[0];
  if (worst) return { ...decision, addition: sentenceOf(worst) };
  const unseen = comparison !== null && decision.bottleneck === 'comms' && waitsForUnseen(comparison);
  return unseen
    ? { ...decision, cause: 'waiting-for-unseen-rank', addition: 'a rank that was not captured may be late' }
    : decision;
}

/** Transfers that are sometimes several times as fast as usual, in groups of which not all members were seen. */
const OFTEN_SLOWER = 3;

function waitsForUnseen({ bandwidth, matched }: Comparison): boolean {
  return bandwidth.some((b) => {
    const { size, captured } = matched.groups[b.group]!;
    return size !== null && captured.length < size && b.transferMedian > OFTEN_SLOWER * b.transferP10;
  });
}
