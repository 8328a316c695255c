import { largest, mean } from '../../base/statistics.js';
import type { Recording } from '../../model/recording.js';
import type { GpuTelemetry } from '../../model/telemetry.js';
import { TelemetryStreamReader } from '../../readers/common/telemetry/telemetry-stream-reader.js';
import { GPU_WORKS } from '../../telemetry/busy-gpu.js';
import { type GpuState, summarizeTelemetry } from '../../telemetry/gpu-state.js';
import { type JobActivity, jobActivity } from '../../telemetry/processes/job-activity.js';

/**
 * Limits of the judges. Sources: T1–T3, T8 are entries of the knowledge base (`whyslow rules`); the zoo is our set of loops
 * on an H200. Shares of a core or of time unless a unit is named.
 */

/** Percent. Below it something else is the limit; between it and GPU_BUSY both count (labels.py: 85 / 1.3). */
export const GPU_WAITS = 65;
/**
 * CPU time of the backward thread (pt_autograd_*) as a share of that and the main thread's. Backward launches as many kernels
 * as forward and more, so a launch-bound loop keeps it busy. Loading on the main thread does not.
 */
export const BACKWARD_WORKS = 0.1;
/** Samples of utilization below this share of the largest one: the GPU pauses for longer than a sample. */
const SAWTOOTH = 0.5;
/** Share of the quota's periods in which it ran out. */
export const QUOTA_USED_UP = 0.1;
/** Cores that compilers use before they explain an idle GPU. */
export const COMPILES = 0.5;
/** Cores of a whole job below which it does nothing. */
export const IDLE = 0.1;

/** A job, its machine and its GPUs over the whole watch. */
export interface Activity extends JobActivity {
  readonly recording: Recording;
  readonly gpu: GpuActivity | null;
  /** The job was watched just now. False: these are samples from earlier, and its processes may be gone. */
  readonly isLive: boolean;
  /** A training process has opened a GPU. */
  readonly usesGpu: boolean;
}

/** Null: fewer than two samples, which show nothing. */
export function activityOf(recording: Recording, isLive = true): Activity | null {
  const job = jobActivity(recording);
  const { gpus, noGpu } = recording.machine;
  return (
    job && {
      ...job,
      recording,
      isLive,
      gpu: gpuActivity(recording),
      usesGpu:
        gpus !== null ||
        job.trainers.some(({ facts }) => facts.gpu || (facts.gpu === null && noGpu === null)),
    }
  );
}

/** The GPUs of a job over the whole watch. */
interface GpuActivity {
  readonly states: readonly GpuState[];
  /** Percent, mean over the job's GPUs. */
  readonly utilization: number;
  /** Share of samples in which a GPU was busy less than half as much as at most. 0: steady. */
  readonly pauses: number;
  /** The job's GPUs are known. Else those that work, or all. */
  readonly areKnown: boolean;
}

/** Null: nothing was measured. */
function gpuActivity({ gpuText, machine }: Recording): GpuActivity | null {
  if (gpuText === null) return null;
  const reader = new TelemetryStreamReader();
  reader.push(Buffer.from(gpuText, 'latin1'));
  const read = reader.finish();
  const measured = summarizeTelemetry(read.telemetry).flatMap((state, index) =>
    state.utilization === null ? [] : [{ state, series: utilizations(read.telemetry, index) }],
  );
  const known = measured.filter(({ state }) => state.index !== null && machine.gpus?.includes(state.index));
  const working = measured.filter(({ state }) => state.utilization! >= GPU_WORKS);
  const chosen = [known, working, measured].find((list) => list.length > 0);
  if (chosen === undefined) return null;
  return {
    states: chosen.map(({ state }) => state),
    utilization: mean(chosen.map(({ state }) => state.utilization!)),
    pauses: mean(chosen.map(({ series }) => pausesIn(series))),
    areKnown: known.length > 0,
  };
}

function utilizations({ gpu, utilization, rows }: GpuTelemetry, index: number): number[] {
  const all = Array.from({ length: rows }, (_, row) => row).filter((row) => gpu[row] === index);
  return all.map((row) => utilization[row]!).filter((value) => !Number.isNaN(value));
}

function pausesIn(series: readonly number[]): number {
  const most = largest(series);
  return series.filter((value) => value < SAWTOOTH * most || value === 0).length / series.length;
}
