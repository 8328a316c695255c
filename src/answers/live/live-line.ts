import { mean } from '../../base/statistics.js';
import { formatCount, formatWhole } from '../../base/units.js';
import type { Recording } from '../../model/recording.js';
import { activityOf } from '../../triage/activity/activity.js';
import { cores, percent, sum } from './words.js';

/** One line while a job is watched: what was seen until now. */
export function liveLine(soFar: Recording, seconds: number): string {
  const activity = activityOf(soFar);
  if (activity === null) return 'looking at the job';
  const { trainers, workers, gpu } = activity;
  const left = Math.max(0, Math.ceil(seconds - activity.seconds));
  const parts = [
    gpu === null ? 'GPU –' : `GPU ${formatWhole(gpu.utilization)}%`,
    trainers.length === 0
      ? 'no training process'
      : `training thread ${percent(mean(trainers.map((t) => t.mainCpu)))} of a core`,
    ...(workers.length > 0
      ? [`${formatCount(workers.length, 'worker')} ${percent(mean(workers.map((w) => w.cpu)))} each`]
      : []),
    `${cores(sum([...trainers, ...workers].map((p) => p.cpu)))} in all`,
  ];
  return `${left} s: ${parts.join(' · ')}`;
}
