import { largest, mean } from '../../base/statistics.js';
import type { Recording } from '../../model/recording.js';
import type { GpuTelemetry } from '../../model/telemetry.js';
import { TelemetryStreamReader } from '../../readers/common/telemetry/telemetry-stream-reader.js';
import { GPU_WORKS } from '../../telemetry/busy-gpu.js';
import { type GpuState, summarizeTelemetry } from '../../telemetry/gpu-state.js';
import { type JobActivity, jobActivity } from '../../telemetry/processes/job-activity.js';
import { SAWTOOTH } from './thresholds.js';

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
