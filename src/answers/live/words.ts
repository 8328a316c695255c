import { largest, mean, smallest } from '../../base/statistics.js';
import { bytes, formatBytes, formatCount, formatWhole, formatWholePercent, share } from '../../base/units.js';
import type { ProcessActivity } from '../../telemetry/processes/process-activity.js';
import type { Activity } from '../../triage/activity/activity.js';

/** Evidence in words. */

export const percent = (part: number): string => formatWholePercent(share(part));

/** `3.1 cores`, `0.25 cores`. */
export const cores = (used: number): string => `${used >= 9.95 ? used.toFixed(0) : used.toFixed(1)} cores`;

export const rate = (perSecond: number): string => `${formatBytes(bytes(Math.round(perSecond)))}/s`;

export function gpuWords({ gpu, recording }: Activity): string {
  if (gpu === null) return `GPU not measured: ${recording.machine.noGpu ?? 'nvidia-smi printed no samples'}`;
  const { states } = gpu;
  const use = states.map((s) => s.utilization!);
  const range = states.length > 1 ? ` (${formatWhole(smallest(use))}–${formatWhole(largest(use))}%)` : '';
  const of = (values: readonly (number | null)[]) => values.filter((v): v is number => v !== null);
  const power = of(states.map((s) => s.power ?? s.maxPower));
  const limit = of(states.map((s) => s.powerLimit));
  const watts =
    power.length > 0
      ? `, ${formatWhole(mean(power))}${limit.length > 0 ? ` of ${formatWhole(mean(limit))}` : ''} W`
      : '';
  const clocks = of(states.map((s) => s.clock));
  const clock = clocks.length > 0 ? `, ${formatWhole(mean(clocks))} MHz` : '';
  const name = states.length === 1 ? 'GPU' : formatCount(states.length, 'GPU');
  return `${name} busy ${formatWhole(gpu.utilization)}% of the time${range}${watts}${clock}`;
}

export const mainWords = ({ trainers }: Activity): string =>
  `training thread: ${percent(mean(trainers.map((t) => t.mainCpu)))} of a core`;

export function workerWords({ workers, workerCount }: Activity): string {
  const use = percent(mean(workers.map((w) => w.cpu)));
  return `${formatCount(workerCount, 'DataLoader worker')}, each using ${use} of a core on average`;
}

/** Bytes per second. What is read through a memory map counts only as far as it comes from a disk. */
export const readsOf = ({ readRate, diskRate }: ProcessActivity): number =>
  Math.max(readRate ?? 0, diskRate ?? 0);

export function readWords(processes: readonly ProcessActivity[]): string[] {
  const read = sum(processes.map(readsOf));
  const disk = sum(processes.map((p) => p.diskRate ?? 0));
  if (read < 1000) return [];
  return [
    `reads ${rate(read)}${disk >= 1000 ? `, ${rate(disk)} of it from disk` : ', all from the page cache'}`,
  ];
}

export const cpuWords = ({ recording: { machine }, cpus }: Activity): string =>
  machine.quota !== null && machine.quota < machine.cores
    ? `${cpus.toFixed(cpus % 1 === 0 ? 0 : 1)} CPUs by cgroup quota, of ${machine.cores}`
    : formatCount(machine.cores, 'CPU');

export const sum = (values: readonly number[]): number => values.reduce((total, v) => total + v, 0);
