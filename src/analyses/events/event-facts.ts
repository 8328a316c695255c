import { mean, median } from '../../base/statistics.js';
import type { EventLog, EventLogRun } from '../../model/event-log.js';
import type { TimeByClass } from '../timeline/accounting.js';
import { meanAmounts, total } from './amounts.js';
import { divideByAmounts } from './divide.js';
import { divideBySpans } from './divide-spans.js';
import { exposedShare } from './layout.js';
import { notesOf } from './notes.js';
import { findOutliers, moveOutliers } from './outliers.js';
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
  /** Mean: what a step costs in the long run. Input that comes in bursts hides from the median. */
  readonly step: number;
  readonly medianStep: number;
  /** Typical deviation from the median (1.4826 · MAD), as a share of it. */
  readonly spread: number;
  readonly stepSource: EventStepSource;
  /** Input is in the step: false where neither start times nor `data_wait` show that nothing lies between steps. */
  readonly stepIsWhole: boolean;
  /** Mean a step, micro-steps summed, in order of appearance. May lie in one another. */
  readonly phases: readonly PhaseFacts[];
  /** The step divided into the report's classes; adds up to `step`. */
  readonly time: TimeByClass;
  /** Time and number of each step that counts. */
  readonly periods: readonly number[];
  readonly indices: readonly number[];
  /** Recorded wait for input, each step that counts; empty when it was not recorded. Hidden or not. */
  readonly dataWaitPerStep: readonly number[];
  /** What could not be told, and what was assumed. */
  readonly notes: readonly string[];
}

export interface PhaseFacts {
  readonly name: string;
  readonly ns: number;
  readonly records: number;
  readonly clock: PhaseClock;
}

/** 1.4826 · MAD estimates a standard deviation. */
const MAD_TO_DEVIATION = 1.4826;
/** What passes between recorded steps may exceed the step by so much before something must lie outside it. */
const SAME_PERIOD = 1.1;

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
  const { source, steps, ns, layout } = periods;
  const step = mean(ns);
  const medianStep = median(ns);
  const amounts = meanAmounts(periods.amounts);
  const waits = periods.amounts.map((a) => total(a, ['data']));
  const hasData = records.phases.some((p) => p.role === 'data');
  const canHide =
    source === 'training_step' && layout === 'whole' && amounts.data.host > 0 && amounts.whole.device > 0;
  const exposed = canHide ? exposedShare(waits, ns) : null;
  const divided =
    divideBySpans(records, periods, amounts) ??
    divideByAmounts(step, amounts, { layout, exposed: exposed ?? 1, allHost: records.allHost });
  const outliers = findOutliers(periods.amounts, layout);
  const time = moveOutliers(divided, outliers);
  const missed = periods.acrossGaps > SAME_PERIOD * step;
  const stepIsWhole = source === 'start-times' || (!missed && (hasData || periods.acrossGaps > 0));
  return {
    ...{ rank: records.rank, run: run.id, steps: steps.length, step, medianStep, time, stepIsWhole },
    ...{ first: steps[0]!.number, last: steps.at(-1)!.number, stepSource: source },
    spread: (MAD_TO_DEVIATION * median(ns.map((v) => Math.abs(v - medianStep)))) / medianStep,
    ...{ periods: ns, indices: steps.map((s) => s.number) },
    phases: phasesOf(records, periods),
    dataWaitPerStep: hasData ? waits : [],
    notes: notesOf({ records, periods, amounts, step, exposed, stepIsWhole, missed, time, outliers }),
  };
}

function phasesOf(records: RankRecords, { steps }: StepPeriods): PhaseFacts[] {
  const sums = records.phases.map(({ name, clock }) => ({ name, ns: 0, records: 0, clock }));
  for (const step of steps) {
    for (const [place, parts] of step.parts) {
      sums[place]!.ns += sumOf(parts) / steps.length;
      sums[place]!.records += parts.length;
    }
  }
  return sums.filter((p) => p.records > 0);
}
