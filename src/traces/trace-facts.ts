import type { Share } from '../base/units.js';
import type { Accelerator } from '../facts/accelerator.js';
import type { RankFacts } from '../facts/rank-facts.js';
import type { StepRange } from '../facts/step-facts.js';
import type { DeviceInfo } from '../model/trace-data.js';
import type { Plan } from '../replay/plan.js';
import type { DeviceCounters } from './detail/device-counters.js';
import type { HardwareUse } from './detail/hardware-use.js';
import type { InputFacts } from './detail/input-facts.js';
import type { KernelTotal } from './detail/kernel-table.js';
import type { OperatorTotal } from './detail/operators.js';
import type { Pauses } from './detail/pauses.js';
import type { Program } from './program.js';
import type { GpuUnions } from './timeline/gpu-unions.js';
import type { OneOffStep } from './timeline/one-off.js';
import type { StartUp } from './timeline/start-up.js';

/** What a trace tells about its rank. Plain data that moves between threads. Times in ns. */
export interface TraceFacts extends RankFacts {
  readonly source: 'trace';
  readonly phases: null;
  /** Most kernels and operators and the plan were left out (`AnalyzeOptions.light`). */
  readonly light: boolean;
  readonly device: DeviceInfo | null;
  readonly accelerator: Accelerator;
  /** Profiler options that were on, e.g. `with_stack`. */
  readonly switches: readonly string[];
  /** What `whyslow slim` estimated before it left out events: the step without the profiler, as a share of the recorded one. */
  readonly unprofiledShare: Share | null;
  readonly hasHostEvents: boolean;
  readonly program: Program;
  /** A step that is left out of all figures. */
  readonly oneOff: OneOffStep | null;
  /** What the job does once, if it was recorded and matters. */
  readonly startUp: StartUp | null;
  readonly gpu: GpuUnions | null;
  /** Null: the device's counters were not sampled. */
  readonly counters: DeviceCounters | null;
  readonly input: InputFacts;
  /** Kernels of the detail window, most time first. `plan.works.kernel` holds indices into it. */
  readonly kernels: readonly KernelTotal[];
  readonly detail: DetailFacts | null;
}

/** The detail window: a few consecutive steps in full, enough to replay them. */
interface DetailFacts {
  readonly plan: Plan | null;
  readonly steps: number;
  readonly operators: readonly OperatorTotal[];
  /** Recorded operators, runtime and driver calls. */
  readonly events: number;
  /** Recorded Python frames. */
  readonly frames: number;
  readonly pauses: Pauses;
  /** ns of host calls that run forward operators again in backward. */
  readonly recomputed: number;
  /** How long the trace says that making a view takes, ns: what recording costs on this machine. Null: too few views. */
  readonly viewTime: number | null;
  /** Null: no shapes were recorded. */
  readonly hardware: HardwareUse | null;
}

export interface AnalyzeOptions {
  readonly steps: StepRange | null;
  /** Leave out what only pricing needs. Of hundreds of ranks only a few are analyzed in full. */
  readonly light?: boolean;
}
