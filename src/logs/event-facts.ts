import type { CheckResult } from '../base/check.js';
import { mean, median } from '../base/statistics.js';
import { type Ns, ns } from '../base/units.js';
import type { JobTime, PaceChange } from '../facts/job-time.js';
import type { PhaseKnowledge } from '../facts/rank-facts.js';
import type { RankTimeline } from '../facts/rank-timeline.js';
import { type TimeByClass, totals } from '../facts/time-class.js';
import type { EventLog, EventLogRun } from '../model/event-log.js';
import { computeSource, computingOf, divideByAmounts, findOutliers, moveOutliers } from './divide.js';
import { divideBySpans } from './divide-spans.js';
import { iterationOf } from './iteration.js';
import { jobTimeOf, withOwnPhases } from './job-time.js';
import { exposedShare } from './layout.js';
import { notesOf } from './notes.js';
import { outsideNames, trainingOnly } from './outside.js';
import { areRegular, atPace, biasOf, ENOUGH_IN_GAPS, usualPeriod } from './pace.js';
import { evenlySpread, paceChange } from './pace-change.js';
import type { PhaseClock } from './phases.js';
import { sampledInput, withInput } from './sampled-input.js';
import { type EventStepSource, findPeriods, onWallClock, type StepPeriods } from './step-periods.js';
import {
  type Amounts,
  eachRank,
  meanAmounts,
  type Part,
  type RankRecords,
  type RecordedStep,
  sumOf,
  total,
} from './step-records.js';

/** What an event log says about one rank of one run, over the steps that count. Plain data. */
export interface EventFacts {
  /** −1: unknown. */
  readonly rank: number;
  readonly run: string | null;
  /** Steps with a usable time, without warm-up. */
  readonly steps: number;
  readonly first: number;
  readonly last: number;
  /** Mean over all steps, also those that were not recorded. A mean, because the median hides bursts of input. */
  readonly step: Ns;
  readonly medianStep: Ns;
  readonly stepSource: EventStepSource;
  /** The step includes input. False if neither start times nor `data_wait` show that nothing is between steps. */
  readonly stepIsWhole: boolean;
  /** In order of appearance. Phases may be nested. */
  readonly phases: readonly PhaseFacts[];
  /** Adds up to `step`. */
  readonly time: TimeByClass;
  /** For each step that counts, as recorded. */
  readonly timePerStep: readonly TimeByClass[];
  readonly knowledge: PhaseKnowledge;
  /** What the rank did between collectives. Null: it is not known when phases ran. */
  readonly timeline: RankTimeline | null;
  /** Time and number of each step that counts. */
  readonly periods: readonly Ns[];
  /** ns per step between recorded steps, if all steps together set `step`. Else empty. */
  readonly paces: readonly Ns[];
  readonly indices: readonly number[];
  /** The steps became slower during the run. Null: they did not. */
  readonly change: PaceChange | null;
  /** A profiler made some of these steps slower: it was attached to the GPU, or recording. */
  readonly disturbedBy: 'attached' | 'recording' | null;
  /** The wall time of the whole process. Null: the log does not say. */
  readonly job: JobTime | null;
  /** What is not known, and what was assumed. */
  readonly notes: readonly CheckResult[];
}

export interface PhaseFacts {
  readonly name: string;
  /** Mean per step, micro-steps summed. */
  readonly ns: Ns;
  readonly records: number;
  readonly clock: PhaseClock;
  /** In each step that counts; 0 where a step has none. */
  readonly perStep: readonly Ns[];
}

/** One for each run and rank that has a step, in the order of the file: the newest run of a rank comes last. */
export function analyzeEventLog(log: EventLog): EventFacts[] {
  return log.runs.flatMap((run) => {
    const job = jobTimeOf(run.header);
    // Without the totals of the whole job, time outside steps would be lost.
    const outside = job ? outsideNames(run) : NO_NAMES;
    return eachRank(run, (recorded) => {
      const records = trainingOnly(recorded, run, outside);
      const periods = findPeriods(records);
      if (!periods) return [];
      const facts = factsAtPace(run, records, periods);
      const timeline = records === recorded ? facts.timeline : wallTimeline(recorded, periods);
      const own = records.allHost ? facts.time.idle_host : facts.step;
      const wall = withOwnPhases(job, records, periods, facts.step, own);
      return [{ ...facts, job: wall && { ...wall, iteration: iterationOf(run) }, timeline }];
    });
  });
}

const NO_NAMES: ReadonlySet<string> = new Set();

/** Ranks are compared by the wall clock, so the same steps are divided once more with the time outside them. */
function wallTimeline(recorded: RankRecords, periods: StepPeriods): RankTimeline | null {
  const wall = onWallClock(recorded, periods);
  return wall && (divideBySpans(recorded, wall, meanAmounts(wall.amounts))?.timeline ?? null);
}

/** Of a run that became slower, each part counts by its length, however many steps of it were recorded. */
function factsAtPace(run: EventLogRun, records: RankRecords, periods: StepPeriods) {
  const facts = factsOf(run, records, periods);
  if (!facts.change) return facts;
  const spread = evenlySpread(periods);
  if (spread.steps.length === periods.steps.length) return facts;
  return { ...factsOf(run, records, spread), change: facts.change };
}

function factsOf(run: EventLogRun, records: RankRecords, periods: StepPeriods): Omit<EventFacts, 'job'> {
  const { source, steps, layout, gaps } = periods;
  const recorded = mean(periods.ns);
  const amounts = meanAmounts(periods.amounts);
  const { divided, timePerStep, computing, exposed, hostPaced, timeline } = divide(records, periods, amounts);
  const outliers = findOutliers(computing);
  // Only whole iterations can be compared with all steps. For anything less, the time outside is unknown.
  const isIteration =
    source === 'start-times'
      ? gaps.steps >= ENOUGH_IN_GAPS
      : source === 'training_step' && layout === 'whole';
  const bias = biasOf(recorded, gaps);
  const paced = bias === 'recorded-slower' ? gaps.mean : usualPeriod(gaps);
  const step = bias && isIteration ? ns(paced) : recorded;
  const usual = moveOutliers(divided, outliers);
  const measured = step === recorded ? usual : atPace(usual, step, areRegular(steps.map((s) => s.number)));
  const hasData = records.phases.some((p) => p.role === 'data');
  const input = hasData ? null : sampledInput(run.header);
  const time = input ? withInput(measured, step, input.share) : measured;
  const missesTime = bias === 'others-slower' && !isIteration;
  const stepIsWhole = source === 'start-times' || (!missesTime && (hasData || gaps.median > 0));
  return {
    rank: records.rank,
    run: run.id,
    steps: steps.length,
    first: steps[0]!.number,
    last: steps.at(-1)!.number,
    step,
    medianStep: median(periods.ns),
    stepSource: source,
    stepIsWhole,
    phases: phasesOf(records, periods),
    time,
    timePerStep,
    knowledge: {
      placed: timeline !== null,
      allHost: records.allHost,
      modelTimed: computeSource(amounts)?.role === 'compute',
      hostPaced,
      copyingHost: copyingHost(records, periods),
      mayHide: computingBeforeWaits(records, steps),
      inputLine: input?.line ?? null,
      ...(input ? { inputKind: input.kind } : {}),
    },
    timeline,
    periods: periods.ns,
    paces: step === recorded ? [] : gaps.each.map(ns),
    indices: steps.map((s) => s.number),
    change: paceChange(
      steps.map((s) => s.number),
      periods.ns,
      timePerStep,
    ),
    disturbedBy: ([null, 'attached', 'recording'] as const)[records.profiler] ?? null,
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

/** Steps by class: from when phases ran where that is known, else from how long they took. */
function divide(records: RankRecords, periods: StepPeriods, amounts: Amounts) {
  const { source, layout } = periods;
  const placed = divideBySpans(records, periods, amounts);
  if (placed)
    return {
      ...placed,
      divided: totals((c) => mean(placed.perStep.map((t) => t[c]))),
      timePerStep: placed.perStep,
      computing: placed.perStep.map((t) => t.compute),
      exposed: null,
    };
  const canHide =
    source === 'training_step' && layout === 'whole' && amounts.data.host > 0 && amounts.whole.device > 0;
  const waits = periods.amounts.map((a) => total(a, ['data']));
  const exposed = canHide ? exposedShare(waits, periods.ns) : null;
  const options = { layout, exposed: exposed ?? 1, allHost: records.allHost };
  return {
    divided: divideByAmounts(mean(periods.ns), amounts, options),
    timePerStep: periods.ns.map((period, i) => divideByAmounts(period, periods.amounts[i]!, options)),
    computing: computingOf(periods.amounts, layout),
    exposed,
    hostPaced: null,
    timeline: null,
  };
}

/** Mean time per step that the host spent on copies which the device timed. Null: unknown. */
function copyingHost(records: RankRecords, { steps }: StepPeriods): Ns | null {
  const copies = [...records.phases.keys()].filter((i) => {
    const { role, clock } = records.phases[i]!;
    return role === 'copy' && clock === 'gpu';
  });
  if (copies.length === 0) return null;
  const perStep = steps.map((s) =>
    copies.flatMap((phase) => s.parts.get(phase) ?? []).reduce((sum, part) => sum + part.hostNs, 0),
  );
  const spent = ns(mean(perStep));
  return Number.isNaN(spent) ? null : spent;
}

function phasesOf(records: RankRecords, { steps }: StepPeriods): PhaseFacts[] {
  return records.phases
    .map(({ name, clock }, phase) => {
      const perStep = steps.map((s) => ns(sumOf(s.parts.get(phase))));
      const count = steps.reduce((n, s) => n + (s.parts.get(phase)?.length ?? 0), 0);
      return { name, ns: mean(perStep), records: count, clock, perStep };
    })
    .filter((p) => p.records > 0);
}

/** The end of a pass, and of the wait at its end, are marked one after the other. ns. */
const SAME_MOMENT = 1_000;

/**
 * Computing in each step behind which gradients may already have been sent. DDP and FSDP send them while the backward pass
 * goes on and wait for them at its end. A log has the wait, not when a gradient was sent: that may have been at any time
 * since the pass began.
 */
function computingBeforeWaits({ phases }: RankRecords, steps: readonly RecordedStep[]): Ns[] {
  const backward = phases.findIndex(({ name }) => name === 'backward');
  const collectives = [...phases.keys()].filter((phase) => phases[phase]!.role === 'comms');
  return steps.map(({ parts }) => {
    const waits = collectives.flatMap((phase) => parts.get(phase) ?? []);
    const before = (parts.get(backward) ?? []).map((pass) => {
      const wait = waits.find((w) => endsPass(w, pass));
      return wait ? wait.start - pass.start : 0;
    });
    return ns(before.reduce((sum, time) => sum + time, 0));
  });
}

/** Without start times (NaN) it does not. */
function endsPass(wait: Part, pass: Part): boolean {
  const passEnd = pass.start + pass.ns;
  return wait.start >= pass.start && wait.start <= passEnd && wait.start + wait.ns >= passEnd - SAME_MOMENT;
}
