import type { CheckResult } from '../../base/check.js';
import { ns, share } from '../../base/units.js';
import type { Recorded } from '../../facts/accelerator.js';
import { type DeviceRates, findDevice } from '../../facts/device-rates.js';
import type { JobTime } from '../../facts/job-time.js';
import type { CopyTime, InputKind, PhaseKnowledge, RankFacts } from '../../facts/rank-facts.js';
import type { StepFacts } from '../../facts/step-facts.js';
import { type StepTime, stepTime } from '../../facts/step-facts.js';
import type { TimeByClass } from '../../facts/time-class.js';
import type { LogFacts } from '../../logs/log-facts.js';
import { withInput } from '../../logs/sampled-input.js';
import { startsGpuWork } from '../../model/gpu-links.js';
import type { Baseline } from '../../replay/recording-cost.js';
import { recordedOf } from '../../traces/program.js';
import type { TraceFacts } from '../../traces/trace-facts.js';
import {
  baselineWith,
  correctCopies,
  correctTime,
  estimatedStep,
  hiddenWaits,
  ownStep,
  scaleTo,
} from './correct-step.js';
import { aboutDifference, differenceOf, directed, divideInside, type Unprofiled } from './join-log.js';

/** One rank: its facts, and its step without the profiler. */
export type RankView = TraceView | LogView;

export interface TraceView extends ViewOf<TraceFacts> {
  readonly source: 'trace';
  readonly rates: DeviceRates | null;
  /** Null when the trace cannot be replayed. */
  readonly baseline: Baseline | null;
  /** The same rank from its event log alone, to compare it with ranks that have no trace. Null: it has no log. */
  readonly log: LogView | null;
}

export interface LogView extends ViewOf<LogFacts> {
  readonly source: 'log';
}

interface ViewOf<Facts extends RankFacts> {
  readonly rank: number;
  readonly facts: Facts;
  readonly step: StepTime;
  /** How `step.unprofiled` divides into classes. */
  readonly time: TimeByClass;
  /** Where that division comes from. */
  readonly divided: Division;
  /** Exposed copies, by direction. */
  readonly copies: CopyTime;
  /** Source line that makes batches in the training loop, if the input time comes from stack samples. Null: it does not. */
  readonly inputLine: string | null;
  /** How the loop waits for it. */
  readonly inputKind?: InputKind | undefined;
  /** The wall time of the whole process. Null: not recorded. */
  readonly job: JobTime | null;
  /** What the event log does not show. */
  readonly notes: readonly CheckResult[];
}

/** A trace divides its own step, unless the steps of the event log are unlike those in the trace. */
export interface Division {
  readonly by: 'trace' | 'log';
  /** The steps that the division is a mean over. */
  readonly steps: StepFacts;
  /** What the phases of the log can show. Null: a trace of the GPU shows more. */
  readonly phases: PhaseKnowledge | null;
}

/** The division of a trace's step by an event log. */
export const dividedByLog = (facts: TraceFacts, log: LogView | null, phases: PhaseKnowledge): Division => ({
  by: 'log',
  steps: (log?.facts ?? facts).steps,
  phases: facts.hasGpuWork ? null : phases,
});

const seesInput = ({ input }: TraceFacts) => input.inMain + input.inWorkers + input.inferred > 0;

/** A log is recorded without the profiler: its step needs no correction. */
export function viewLog(
  rank: number,
  facts: LogFacts,
  { step, job, notes }: Pick<Unprofiled, 'step' | 'job' | 'notes'>,
): LogView {
  const { steps, phases } = facts;
  return {
    source: 'log',
    rank,
    facts,
    step: stepTime(
      { recorded: steps.recorded, recordedBy: 'events', unprofiled: step, unprofiledBy: 'events' },
      job,
    ),
    time: scaleTo(facts.time, step),
    divided: { by: 'log', steps, phases },
    copies: facts.copies,
    inputLine: phases.inputLine,
    inputKind: phases.inputKind,
    job,
    notes,
  };
}

/** Takes the step without the profiler from an event log, or estimates it. `log`: the same rank from its log alone. */
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
  // A step that the trace does not show is no measure of what recording costs.
  const fitted = differs ? null : unprofiled;
  const baseline = facts.detail?.plan ? baselineWith(facts, facts.detail.plan, fitted, hidden) : null;
  const estimated = ns(estimatedStep(facts, baseline));
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
  const job = unprofiled?.job ?? null;
  return {
    source: 'trace',
    rank,
    facts,
    baseline,
    step: stepTime(
      {
        recorded: facts.steps.recorded,
        recordedBy: facts.hasGpuWork ? 'gpu-timeline' : 'host',
        unprofiled: step,
        unprofiledBy: unprofiled ? 'events' : baseline?.faithful ? 'replay' : 'estimate',
      },
      job,
    ),
    job,
    notes: unprofiled ? [...unprofiled.notes, ...aboutDifference(unprofiled, own!, difference)] : [],
    rates: facts.device ? findDevice(facts.device.name, facts.device.totalMemory) : null,
    time,
    divided: differs
      ? dividedByLog(facts, log, unprofiled!.knowledge)
      : { by: 'trace', steps: facts.steps, phases: null },
    copies: differs ? directed(time.copy, copies) : copies,
    inputLine: seesInput(facts) ? null : (log?.inputLine ?? null),
    inputKind: log?.inputKind,
    log,
  };
}

/**
 * How sure it is that a device worked and the recording does not show it: its activity was off, or all its records were lost.
 * `unread`: its events are there, in a layout that whyslow does not understand. `launched`: calls that start GPU work were
 * recorded. `listed`: the profiler lists a GPU, so the job may use it; it lists those of the machine whether it records them or
 * not. Null: the job has none, or its work was recorded.
 */
export function unseenGpu(view: RankView): 'launched' | 'listed' | 'unread' | null {
  if (view.source === 'log' || view.divided.by === 'log' || view.facts.hasGpuWork) return null;
  const { detail, device, accelerator } = view.facts;
  if (accelerator.unread > 0) return 'unread';
  if (detail?.operators.some(({ name }) => startsGpuWork(name) || ONLY_ON_GPU.test(name))) return 'launched';
  // Operators of its own show the device (MPS, XLA, …), and torch.profiler records no work of it.
  if (device === null && accelerator.kind !== 'none' && accelerator.kind !== 'cuda') return 'launched';
  // Capture knows whether the job uses a GPU.
  if (view.log?.facts.phases.allHost) return null;
  return device === null || computesOnCpu(view) ? null : 'listed';
}

/** Without a trace, advice on a better recording is for the training script that most people have. */
const OF_TRAINING: Recorded = { byNsys: false, torch: true, ownProfiler: false };

export const recordedBy = (view: RankView | null): Recorded =>
  view?.source === 'trace' ? recordedOf(view.facts.accelerator, view.facts.program) : OF_TRAINING;

/** Operators that only run on the CPU: those of oneDNN, MKL and NNPACK, and what PyTorch names after it. */
const ONLY_ON_CPU = /^(?:aten|mkldnn|mkl)::_?(?:mkldnn|mkl|nnpack)_|_for_cpu$|^(?:mkldnn|mkl|onednn)::/;
/** Operators of libraries that only GPUs have. Asking whether cuDNN would do is not using it. */
const ONLY_ON_GPU = /^aten::_?(?:cudnn|miopen)_(?!is_acceptable)/;
/** They take this part of a step whose model runs on the CPU. */
const MOST_OF_STEP = 0.5;
/** The same if CUDA’s calls were recorded and none of them gives the GPU work. */
const SOME_OF_STEP = 0.1;
const IS_CUDA_CALL = /^(?:cuda|hip)[A-Z]/;

/** Time per step in operators that prove that the model runs on the CPU. */
export function cpuOnlyTime({ facts }: TraceView): number {
  const operators = facts.detail?.operators.filter(({ name }) => ONLY_ON_CPU.test(name)) ?? [];
  return operators.reduce((sum, o) => sum + o.self, 0) / (facts.detail?.steps ?? 1);
}

/** The model runs on the CPU, whatever GPU the machine has. */
export function computesOnCpu(view: TraceView): boolean {
  const { hasGpuWork, detail } = view.facts;
  if (hasGpuWork) return false;
  const calls = detail?.operators.filter(({ name }) => IS_CUDA_CALL.test(name)) ?? [];
  const isIdle = calls.length > 0 && !calls.some(({ name }) => startsGpuWork(name));
  return cpuOnlyTime(view) >= (isIdle ? SOME_OF_STEP : MOST_OF_STEP) * view.step.recorded;
}
