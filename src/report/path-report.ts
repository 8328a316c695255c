import { delayWords } from '../answers/kit/late-words.js';
import { ns, share, toMs, toSeconds } from '../base/units.js';
import { sharesOfClasses, sumOfClasses, TIME_CLASSES } from '../facts/time-class.js';
import { atPace } from '../logs/pace.js';
import type { Comparison } from '../run/compare.js';
import { whatIfWithoutLateRanks } from '../run/what-if.js';
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

/** The run without late ranks. */
export function whatIfOf(comparison: Comparison | null): ReportWhatIf | null {
  const answer = comparison && whatIfWithoutLateRanks(comparison);
  if (!answer) return null;
  return {
    actual_s: toSeconds(answer.actual),
    ideal_s: toSeconds(answer.ideal),
    slowdown: answer.actual / answer.ideal,
    m_w: answer.shareOfNamed,
    m_s: null,
    cases: answer.cases.map(({ late, saving }) => ({
      text: late ? `without ${delayWords(late)}` : 'with all transfers hidden behind computing',
      ranks: late ? [...late.ranks] : [],
      saving_ms: toMs(saving),
    })),
  };
}
