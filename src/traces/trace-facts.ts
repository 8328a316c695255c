import type { RankFacts } from '../facts/rank-facts.js';
import type { StepRange } from '../facts/step-facts.js';
import type { DeviceInfo } from '../model/trace-data.js';
import type { Plan } from '../replay/plan.js';
import type { InputFacts } from './detail/input-facts.js';
import type { KernelTotal } from './detail/kernel-table.js';
import type { OperatorTotal } from './detail/operators.js';
import type { Silences } from './detail/silences.js';
import type { GpuUnions } from './timeline/gpu-unions.js';

/** All that rules ask about one rank's trace. Plain data that moves between threads. Times are in ns. */
export interface TraceFacts extends RankFacts {
  readonly source: 'trace';
  readonly phases: null;
  /** Kernels, operators and plan were left out (`AnalyseOptions.light`). */
  readonly light: boolean;
  readonly device: DeviceInfo | null;
  readonly switches: readonly string[];
  readonly hasHostEvents: boolean;
  readonly gpu: GpuUnions | null;
  readonly input: InputFacts;
  /** Every kernel of the detail window, most time first. `plan.works.kernel` points into it. */
  readonly kernels: readonly KernelTotal[];
  readonly detail: DetailFacts | null;
}

/** A few consecutive steps in full: enough to play them again, few enough for any size of trace. */
export interface DetailFacts {
  readonly plan: Plan | null;
  readonly steps: number;
  readonly operators: readonly OperatorTotal[];
  /** Recorded in the detail window: operators, runtime and driver calls; Python frames; kernels of CUDA graphs. */
  readonly events: number;
  readonly frames: number;
  /** Times without any recorded call on the training threads, input waits left out. */
  readonly silences: Silences;
}

export interface AnalyseOptions {
  readonly steps: StepRange | null;
  /** Without what only pricing needs: of hundreds of ranks a few are looked at in full. */
  readonly light?: boolean;
}
