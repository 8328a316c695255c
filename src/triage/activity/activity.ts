import type { Recording } from '../../model/recording.js';
import { type JobActivity, jobActivity } from '../../telemetry/processes/job-activity.js';
import { type GpuActivity, gpuActivity } from './gpu-activity.js';

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
