import type { CheckResult } from '../../base/check.js';
import { type Ns, ns, share } from '../../base/units.js';
import { type DeviceRates, findDevice } from '../../facts/device-rates.js';
import type { JobTime } from '../../facts/job-time.js';
import type { CopyTime, PhaseKnowledge, RankFacts } from '../../facts/rank-facts.js';
import type { StepFacts } from '../../facts/step-facts.js';
import type { TimeByClass } from '../../facts/time-class.js';
import type { LogFacts } from '../../logs/log-facts.js';
import { withInput } from '../../logs/sampled-input.js';
import type { Baseline } from '../../replay/recording-cost.js';
import type { TraceFacts } from '../../traces/trace-facts.js';
import {
  baselineWith,
  correctCopies,
  correctedStep,
  correctTime,
  hiddenWaits,
  ownStep,
  scaleTo,
} from './correct-step.js';
import { aboutDifference, differenceOf, directed, divideInside, type Unprofiled } from './join-log.js';

/** One rank: its facts, and its step time without the profiler. */
export type RankView = TraceView | LogView;

export interface TraceView extends ViewOf<TraceFacts> {
  readonly source: 'trace';
  readonly rates: DeviceRates | null;
  /** Null when the trace cannot be replayed. */
  readonly baseline: Baseline | null;
  /** The event log gives the division of the step, because the trace's steps are not like the others. Null: the trace does. */
  readonly dividedBy: PhaseKnowledge | null;
  /** The same rank from its event log alone, to compare it with ranks that have no trace. Null: it has no log. */
  readonly log: LogView | null;
}

export interface LogView extends ViewOf<LogFacts> {
  readonly source: 'log';
}

interface ViewOf<Facts extends RankFacts> {
  readonly rank: number;
  readonly facts: Facts;
  /** Step time without the profiler, and how it divides into classes. */
  readonly step: Ns;
  readonly time: TimeByClass;
  /** Exposed copies, by direction. */
  readonly copies: CopyTime;
  /** An event log measured `step`. False: it is estimated. */
  readonly measuredUnprofiled: boolean;
  /** The wall time of the whole process: `step` leaves out what lies outside training. Null: not recorded. */
  readonly job: JobTime | null;
  /** What the event log does not show. */
  readonly notes: readonly CheckResult[];
}

/** What the phases of an event log tell, where nothing tells more about how the step divides. Null: a trace does. */
export const phasesOf = (view: RankView): PhaseKnowledge | null =>
  view.facts.phases ?? (view.source === 'trace' && !view.facts.hasGpuWork ? view.dividedBy : null);

/** The line that makes the batches in the training loop, where stack samples say how long that takes. */
export const inputLineOf = (view: RankView): string | null =>
  view.source === 'log'
    ? view.facts.phases.inputLine
    : seesInput(view.facts)
      ? null
      : (view.log?.facts.phases.inputLine ?? null);

const seesInput = ({ input }: TraceFacts) => input.inMain + input.inWorkers + input.inferred > 0;

/** The steps that the division of the step is a mean over. */
export const stepsOf = (view: RankView): StepFacts =>
  view.source === 'trace' && view.dividedBy && view.log ? view.log.facts.steps : view.facts.steps;

/** A log is recorded without the profiler: its step needs no correction. */
export function viewLog(
  rank: number,
  facts: LogFacts,
  { step, job, notes }: Pick<Unprofiled, 'step' | 'job' | 'notes'>,
): LogView {
  return {
    source: 'log',
    rank,
    facts,
    step,
    time: scaleTo(facts.time, step),
    copies: facts.copies,
    measuredUnprofiled: true,
    job,
    notes,
  };
}

/**
 * Takes the step without the profiler from an event log where there is one, else estimates it. `log`: the same rank from its
 * log alone.
 */
export function viewTrace(
  rank: number,
  facts: TraceFacts,
  unprofiled: Unprofiled | null,
  log: LogView | null = null,
): TraceView {
  const hidden = unprofiled ? hiddenWaits(facts, unprofiled) : 0;
  const own = unprofiled && ownStep(facts, hidden);
  const difference = own && differenceOf(unprofiled!, own);
  const differs = difference !== null;
  // A step that the trace does not show tells nothing about the cost of recording.
  const fitted = differs ? null : unprofiled;
  const baseline = facts.detail?.plan ? baselineWith(facts, facts.detail.plan, fitted, hidden) : null;
  const estimated = ns(correctedStep(facts, baseline));
  const step = unprofiled?.step ?? estimated;
  const inside = correctTime(facts, baseline, fitted ? step : estimated, fitted?.time ?? null, hidden);
  const divided = differs
    ? divideInside(
        scaleTo(unprofiled!.time, step),
        { time: inside, seesGpu: facts.hasGpuWork },
        unprofiled!.knowledge,
      )
    : inside;
  const input = unprofiled?.knowledge.inputLine && !seesInput(facts) && !differs ? unprofiled : null;
  const time = input ? withInput(divided, step, share(input.time.idle_data / input.step)) : divided;
  const copies = correctCopies(facts, baseline);
  return {
    source: 'trace',
    rank,
    facts,
    baseline,
    step,
    measuredUnprofiled: unprofiled !== null,
    job: unprofiled?.job ?? null,
    notes: unprofiled ? [...unprofiled.notes, ...aboutDifference(unprofiled, own!, difference)] : [],
    rates: facts.device ? findDevice(facts.device.name, facts.device.totalMemory) : null,
    time,
    copies: differs ? directed(time.copy, copies) : copies,
    dividedBy: differs ? unprofiled!.knowledge : null,
    log,
  };
}
