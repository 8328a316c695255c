import { mean } from '../base/statistics.js';
import { sumOfClasses, type TimeByClass, totals } from '../facts/time-class.js';
import { atPace } from '../logs/pace.js';
import type { Comparison } from '../run/compare.js';
import type { RankView } from './ranks/rank-view.js';
import type { AcrossRanks } from './run-facts.js';
import type { Decision } from './verdict/decide.js';
import { lateSentence } from './words/late-ranks.js';

/** What the comparison of ranks adds to the views, the verdict and the facts that rules see. */

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
    time: totals((c) => {
      if (c === 'comms_wait') return time.comms_wait + waiting;
      return c === 'comms_transfer' || c === 'idle_comms' ? time[c] * (1 - share) : time[c];
    }),
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

/** A late rank worth naming is part of the answer; one that was not captured may be behind waiting that nobody explains. */
export function withStragglers(decision: Decision, comparison: Comparison | null): Decision {
  const worst = comparison?.late[0];
  if (worst) return { ...decision, addition: lateSentence(worst) };
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
