import type { CheckResult } from '../base/check.js';
import { mean, median } from '../base/statistics.js';
import { type Ns, ns } from '../base/units.js';
import type { PhaseKnowledge } from '../facts/rank-facts.js';
import type { RankTimeline } from '../facts/rank-timeline.js';
import { type TimeByClass, totals } from '../facts/time-class.js';
import type { EventLog, EventLogRun } from '../model/event-log.js';
import { meanAmounts, total } from './amounts.js';
import { divideByAmounts } from './divide.js';
import { divideBySpans } from './divide-spans.js';
import { exposedShare } from './layout.js';
import { notesOf } from './notes.js';
import { computingOf, findOutliers, moveOutliers } from './outliers.js';
import { atPace, biasOf, usualPeriod } from './pace.js';
import type { PhaseClock } from './phases.js';
import { type EventStepSource, findPeriods, type StepPeriods } from './step-periods.js';
import { type RankRecords, recordsByRank, sumOf } from './step-records.js';

/** What an events log says about one rank of one run. Plain data. Times in ns. */
export interface EventFacts {
  /** −1 unknown. */
  readonly rank: number;
  readonly run: string | null;
  /** Steps with a usable whole-step time, warm-up left out; all figures are over them. */
  readonly steps: number;
  readonly first: number;
  readonly last: number;
  /** Mean: what a step costs in the long run, also those that were not recorded. Bursts of input hide from the median. */
  readonly step: Ns;
  readonly medianStep: Ns;
  /** Typical deviation from the median (1.4826 · MAD), as a share of it. */
  readonly spread: number;
  readonly stepSource: EventStepSource;
  /** Input is in the step: false where neither start times nor `data_wait` show that nothing lies between steps. */
  readonly stepIsWhole: boolean;
  /** Mean a step, micro-steps summed, in order of appearance. May lie in one another. */
  readonly phases: readonly PhaseFacts[];
  /** The step divided into the report's classes; adds up to `step`. */
  readonly time: TimeByClass;
  /** The same for each step that counts, steps far longer than others as they are. */
  readonly timePerStep: readonly TimeByClass[];
  readonly knowledge: PhaseKnowledge;
  /** What it did between collectives; null where it is not known when phases ran. */
  readonly timeline: RankTimeline | null;
  /** Time and number of each step that counts. */
  readonly periods: readonly Ns[];
  readonly indices: readonly number[];
  /** Recorded wait for input, each step that counts; empty when it was not recorded. Hidden or not. */
  readonly dataWaitPerStep: readonly Ns[];
  /** What could not be told, and what was assumed. */
  readonly notes: readonly CheckResult[];
}

export interface PhaseFacts {
  readonly name: string;
  readonly ns: Ns;
  readonly records: number;
  readonly clock: PhaseClock;
  /** ns in each step that counts; 0 where a step has none. */
  readonly perStep: readonly Ns[];
}

/** 1.4826 · MAD estimates a standard deviation. */
const MAD_TO_DEVIATION = 1.4826;

/** One for each run and rank that has a step, in the order of the file: of a rank the newest run comes last. */
export function analyseEventLog(log: EventLog): EventFacts[] {
  return log.runs.flatMap((run) =>
    recordsByRank(run).flatMap((records) => {
      const periods = findPeriods(records);
      return periods ? [factsOf(run, records, periods)] : [];
    }),
  );
}

function factsOf(run: EventLogRun, records: RankRecords, periods: StepPeriods): EventFacts {
  const { source, steps, layout, gaps } = periods;
  const all = periods.ns.map(ns);
  const recorded = mean(all);
  const medianStep = median(all);
  const amounts = meanAmounts(periods.amounts);
  const waits = periods.amounts.map((a) => ns(total(a, ['data'])));
  const hasData = records.phases.some((p) => p.role === 'data');
  const placed = divideBySpans(records, periods, amounts);
  const canHide =
    !placed &&
    source === 'training_step' &&
    layout === 'whole' &&
    amounts.data.host > 0 &&
    amounts.whole.device > 0;
  const exposed = canHide ? exposedShare(waits, all) : null;
  const options = { layout, exposed: exposed ?? 1, allHost: records.allHost };
  const timePerStep =
    placed?.perStep ?? all.map((period, i) => divideByAmounts(period, periods.amounts[i]!, options));
  const divided = placed
    ? totals((c) => mean(timePerStep.map((t) => t[c])))
    : divideByAmounts(recorded, amounts, options);
  const outliers = findOutliers(
    placed ? placed.perStep.map((t) => t.compute) : computingOf(periods.amounts, layout),
  );
  // Recorded whole steps can be compared with all of them; of anything less it is not known what lies outside it.
  const isIteration = source === 'training_step' && layout === 'whole';
  const bias = biasOf(recorded, gaps);
  const step =
    !bias || !isIteration ? recorded : ns(bias === 'recorded-slower' ? gaps.mean : usualPeriod(gaps));
  const usual = moveOutliers(divided, outliers);
  const time = step === recorded ? usual : atPace(usual, step);
  const hostPaced = placed?.hostPaced ?? null;
  const missed = bias === 'others-slower' && !isIteration;
  const stepIsWhole = source === 'start-times' || (!missed && (hasData || gaps.median > 0));
  return {
    ...{ rank: records.rank, run: run.id, steps: steps.length, step, medianStep, stepIsWhole },
    ...{ time, timePerStep },
    knowledge: {
      ...{ placed: placed !== null, allHost: records.allHost, hostPaced },
      copyingHost: copyingHost(records, periods),
    },
    ...{ first: steps[0]!.number, last: steps.at(-1)!.number, stepSource: source },
    spread: (MAD_TO_DEVIATION * median(all.map((v) => Math.abs(v - medianStep)))) / medianStep,
    ...{ periods: all, indices: steps.map((s) => s.number) },
    ...{ phases: phasesOf(records, periods), timeline: placed?.timeline ?? null },
    dataWaitPerStep: hasData ? waits : [],
    notes: notesOf({
      records,
      periods,
      amounts,
      recorded,
      exposed,
      stepIsWhole,
      bias,
      isIteration,
      time,
      outliers,
      hostPaced,
    }),
  };
}

function copyingHost(records: RankRecords, { steps }: StepPeriods): Ns | null {
  const places = records.phases.flatMap((p, place) =>
    p.role === 'copy' && p.clock === 'gpu' ? [place] : [],
  );
  if (places.length === 0) return null;
  const perStep = steps.map((s) =>
    places.flatMap((p) => s.parts.get(p) ?? []).reduce((sum, part) => sum + part.hostNs, 0),
  );
  const spent = ns(mean(perStep));
  return Number.isNaN(spent) ? null : spent;
}

function phasesOf(records: RankRecords, { steps }: StepPeriods): PhaseFacts[] {
  return records.phases
    .map(({ name, clock }, place) => {
      const perStep = steps.map((s) => ns(sumOf(s.parts.get(place))));
      const count = steps.reduce((n, s) => n + (s.parts.get(place)?.length ?? 0), 0);
      return { name, ns: mean(perStep), records: count, clock, perStep };
    })
    .filter((p) => p.records > 0);
}
