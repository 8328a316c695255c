import { found } from '../base/check.js';
import { mean } from '../base/statistics.js';
import { lasting, MAY_BE_HIDDEN } from '../facts/step-facts.js';
import { sumOfClasses, type TimeByClass, totals } from '../facts/time-class.js';
import { areRegular, atPace } from '../logs/pace.js';
import type { Comparison } from '../run/compare.js';
import { mayBeHidden } from '../run/lateness/late-ranks.js';
import { directed, divideInside } from './ranks/join-log.js';
import { dividedByLog, type RankView } from './ranks/rank-view.js';
import type { AcrossRanks } from './run-facts.js';

/** What comparing the ranks adds to the views and to the facts that rules see. */

export function acrossOf(
  comparison: Comparison | null,
  locations: ReadonlyMap<number, { readonly host: string | null }>,
): AcrossRanks | null {
  if (!comparison?.table) return null;
  const { late } = comparison;
  // Sizes and overlap are known from traces.
  const { matched, slowGroups, played } = comparison.traced ?? comparison;
  return {
    late,
    steps: comparison.table.steps.length,
    overlap: played?.withOverlap ?? null,
    links: slowGroups.map(({ group, ...slow }) => {
      const { name, captured } = matched.groups[group]!;
      const ranks = captured.map((index) => matched.ranks[index]!);
      const hosts = new Set(ranks.map((r) => locations.get(r)?.host ?? null));
      return { ...slow, group: name, ranks, hosts: [...hosts].filter((host) => host !== null) };
    }),
  };
}

/**
 * The rank with the largest part of the critical path, with the time of the whole path. `from`: what ranks were compared
 * from. `views`: the same ranks, with their traces, which show what happens inside.
 */
export function criticalView(
  comparison: Comparison | null,
  from: readonly RankView[],
  views: readonly RankView[] = from,
): RankView | null {
  const critical = comparison?.critical;
  const view = critical && from.find((v) => v.rank === critical.rank);
  if (!critical || !view) return null;
  // Each class shrinks without the profiler as it does on that rank.
  const unprofiled = totals((c) => {
    const recorded = view.facts.time[c];
    return recorded > 0 ? critical.time[c] * (view.time[c] / recorded) : critical.time[c];
  });
  if (!(sumOfClasses(unprofiled) > 0)) return null;
  const time = scaledToStep(view, unprofiled);
  const traced = views.find((v) => v.rank === critical.rank && v.source === 'trace');
  const hidden = comparison.late.filter(mayBeHidden).length;
  const unsure = found(
    'note',
    MAY_BE_HIDDEN,
    hidden,
    'a delay may be hidden',
    'the others may not wait for it',
  );
  if (view.source === 'trace' || traced?.source !== 'trace')
    return { ...view, time, notes: [...view.notes, ...unsure] };
  const { phases } = view.facts;
  const divided = divideInside(time, { time: traced.time, seesGpu: traced.facts.hasGpuWork }, phases);
  return {
    ...traced,
    notes: [...traced.notes, ...unsure],
    step: lasting(traced.step, view.step.unprofiled),
    time: divided,
    copies: directed(divided.copy, traced.copies),
    divided: dividedByLog(traced.facts, traced.log, phases),
  };
}

/** Scales the time of recorded steps to one step of the view. */
function scaledToStep({ step, facts }: RankView, time: TimeByClass): TimeByClass {
  const scaled = (to: number) => totals((c) => (time[c] * to) / sumOfClasses(time));
  // A log does not record every step, and the other steps may take a different time.
  if (!facts.phases) return scaled(step.unprofiled);
  return atPace(scaled(mean([...facts.steps.periods])), step.unprofiled, areRegular(facts.steps.indices));
}

/** The run's pace belongs to each of its ranks. */
export const withPace = (view: RankView, comparison: Comparison | null): RankView =>
  comparison?.table ? { ...view, step: { ...view.step, pace: comparison.pace } } : view;

/** Divides a rank's exposed communication into waiting and transfer. */
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

/** In a log any phase may contain waiting. The comparison has separated it, step by step. */
function timeFromLog(view: RankView, comparison: Comparison | null): RankView | null {
  const perStep = comparison?.table?.time[comparison.table.ranks.indexOf(view.rank)];
  if (!perStep) return null;
  const time = totals((c) => perStep.reduce((sum, t) => sum + t[c], 0));
  return sumOfClasses(time) > 0 ? { ...view, time: scaledToStep(view, time) } : null;
}

/** Share of the step spent waiting for ranks that compute longer than the others. */
export function lateComputingOf(comparison: Comparison | null): number {
  const { late = [], pace = 0 } = comparison ?? {};
  const cost = late.filter((l) => l.cause === 'gpu').reduce((sum, l) => sum + l.cost, 0);
  return pace > 0 ? cost / pace : 0;
}
