import { median } from '../base/statistics.js';
import { ns, share, toMs, toSeconds } from '../base/units.js';
import { describeRanks } from '../diagnosis/words/late-ranks.js';
import { sharesOfClasses, sumOfClasses, TIME_CLASSES } from '../facts/time-class.js';
import { atPace } from '../logs/pace.js';
import { beyondPace, type Comparison } from '../run/compare.js';
import type { LateRanks } from '../run/lateness/late-ranks.js';
import type { ReportPath, ReportWhatIf } from './report.js';

/** The critical path and the what-if cases of the report. */

export function criticalPathOf(comparison: Comparison | null): ReportPath | null {
  if (!comparison?.path || !comparison.table) return null;
  const { path, table, pace } = comparison;
  const paced = Math.min(1, pace / table.recorded);
  const all = sumOfClasses(path.time);
  if (!(all > 0)) return null;
  return {
    by_class: sharesOfClasses(path.time),
    by_rank: path.ranks.map(({ rank, ns: onPath, time: recorded }) => {
      const time = atPace(recorded, paced * sumOfClasses(recorded), true);
      const mostly = TIME_CLASSES.reduce((a, b) => (time[b] > time[a] ? b : a));
      return { rank, share: share(Math.min(1, onPath / all)), mostly, mostly_ms: toMs(ns(time[mostly])) };
    }),
    hops: Math.round(100 * path.hops) / 100,
  };
}

/** A smaller saving, as a share of the step, is within the noise of real runs. */
const MIN_SAVING = 0.01;

/** The step without late ranks: from replaying the run, else from the own time of the median rank. */
export function whatIfAcross(comparison: Comparison | null): ReportWhatIf | null {
  if (!comparison?.table || !comparison.critical) return null;
  const { table, played, late, pace } = comparison;
  const beyond = beyondPace(table, pace);
  const lostAsRecorded = played
    ? Math.min(played.withoutAny, 0.99 * table.recorded)
    : lostToLateness(comparison);
  const lost = Math.max(0, lostAsRecorded - beyond);
  const ideal = pace - lost;
  const named = late.flatMap((l) => l.ranks);
  const wonBack =
    played && named.length > 0
      ? Math.max(0, played.without(named) - beyond)
      : late.reduce((ns, l) => ns + l.cost, 0);
  return {
    actual_s: toSeconds(ns(pace)),
    ideal_s: toSeconds(ns(ideal)),
    slowdown: pace / ideal,
    m_w: lost > 0.001 * pace ? Math.min(1, wonBack / lost) : null,
    m_s: null,
    cases: casesOf(comparison),
  };
}

/** What is left without lateness: the own time of the median rank, and exposed transfers. */
function lostToLateness({ table, critical }: Comparison): number {
  const steps = table!.steps.length;
  const usual = table!.steps.reduce((ns, _, s) => ns + median(table!.own.map((o) => o[s]!)), 0) / steps;
  const { comms_transfer, idle_comms } = critical!.time;
  return table!.recorded - Math.min(table!.recorded, usual + comms_transfer + idle_comms);
}

/** What each change would save. Empty if the replay does not reproduce the run. */
function casesOf({ played, traced, table, late, pace }: Comparison): ReportWhatIf['cases'] {
  if (!played) return traced ? casesOf({ ...traced, late: [] }) : [];
  const without = late.map((l) => ({
    text: `without ${lateOnes(l)}`,
    ranks: [...l.ranks],
    saving_ms: toMs(
      ns(l.ranks.length > 0 ? l.cost : Math.max(0, played.withoutAny - beyondPace(table!, pace))),
    ),
  }));
  const hidden = {
    text: 'with all transfers hidden behind computing',
    ranks: [],
    saving_ms: toMs(ns(played.withOverlap)),
  };
  return [...without, hidden].filter((c) => c.saving_ms >= toMs(ns(MIN_SAVING * table!.recorded)));
}

const lateOnes = (late: LateRanks) =>
  late.ranks.length === 0 ? 'the imbalance' : `the delay of ${describeRanks(late)}`;
