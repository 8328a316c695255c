import { mean } from '../../base/statistics.js';
import { formatWhole } from '../../base/units.js';
import type { RunInputs } from '../../ingest/read-run.js';
import {
  GPU_BUSY,
  GPU_WORKS,
  HELD_BY,
  isStarved,
  powerLimitOf,
  type Throttle,
  throttleOf,
} from '../../telemetry/busy-gpu.js';
import type { GpuState } from '../../telemetry/gpu-state.js';
import { LEAST_LIMITED } from '../../telemetry/slow-gpu.js';
import type { Verdict } from './verdict.js';

/**
 * The answer for a job of which only the output of nvidia-smi or rocm-smi exists (T1–T3). It tells whether the GPU is busy,
 * and whether its clock and power fit that; not what it waits for. Null: there is none, or it does not have utilization.
 */
export function telemetryVerdict({ beside }: Pick<RunInputs, 'beside'>): Verdict | null {
  const measured = beside.flatMap(({ evidence: { gpus = [], series } }) =>
    gpus.flatMap((gpu, i) => {
      const busy = series ? busyWhileWorking(series[i]!.utilization) : null;
      return busy === null ? [] : [{ gpu, busy }];
    }),
  );
  if (measured.length === 0) return null;
  const working = measured.filter(({ busy }) => busy >= GPU_WORKS);
  const gpus = (working.length > 0 ? working : measured).map(({ gpu }) => gpu);
  const busy = mean((working.length > 0 ? working : measured).map((m) => m.busy));
  const who = gpus.length > 1 ? `the ${gpus.length} GPUs are` : 'the GPU is';
  const isBusy = `${who} busy ${formatWhole(busy)}% of the time`;
  if (busy < GPU_BUSY) return waiting(isBusy);
  for (const gpu of gpus) {
    const throttle = throttleOf(gpu);
    if (throttle) return throttled(gpu, throttle);
  }
  const starved = gpus.find(isStarved);
  if (starved) return starving(isBusy, starved);
  return gpus.every(isFed) ? fed(isBusy, gpus) : busyAtMost(isBusy);
}

/** Percent, from when it first worked until it last did: a log often begins before the job and ends after it. */
function busyWhileWorking(series: Float32Array): number | null {
  const known = [...series].filter((percent) => !Number.isNaN(percent));
  if (known.length === 0) return null;
  const works = (percent: number) => percent >= GPU_WORKS;
  const job = known.slice(Math.max(0, known.findIndex(works)), known.findLastIndex(works) + 1);
  return mean(job.length > 0 ? job : known);
}

/** It draws much of its power limit, or all of it. */
const isFed = (gpu: GpuState) =>
  (powerLimitOf(gpu) !== null && gpu.power !== null) || (gpu.powerCap ?? 0) >= LEAST_LIMITED;

const WATCH = 'watch the job while it runs, on its machine: whyslow triage';
export const MEASURE = 'measure it from start to end: whyslow run -- python train.py';
const QUERY =
  'record power and clock with their limits: nvidia-smi --query-gpu=timestamp,index,name,utilization.gpu,clocks.sm,clocks.max.sm,power.draw,power.limit --format=csv -l 1 > gpus.csv';

/** No answer, but a sentence on what was seen, and what gives one. */
export const unknown = (cause: string, sentence: string, next: readonly string[]): Verdict => ({
  bottleneck: 'unknown',
  cause,
  confidence: 0.4,
  sentence: `Unknown: ${sentence}`,
  second: null,
  next,
});

const waiting = (isBusy: string): Verdict =>
  unknown('gpu-waits', `${isBusy}. For the rest it waits, and telemetry does not show for what`, [
    WATCH,
    MEASURE,
  ]);

/** Without the power limit, a trickle of small kernels looks the same (T2). */
const busyAtMost = (isBusy: string): Verdict =>
  unknown(
    'gpu-busy',
    `${isBusy}, but a trickle of small kernels counts as busy too, and the power limit is not known (best guess: gpu)`,
    [QUERY, WATCH],
  );

function starving(isBusy: string, gpu: GpuState): Verdict {
  const power = `${formatWhole(gpu.power!)} of ${formatWhole(powerLimitOf(gpu)!)} W`;
  return unknown(
    'busy-but-starved',
    `${isBusy} and draws only ${power}: small kernels, or waits in collectives, count as busy`,
    [WATCH, MEASURE],
  );
}

function fed(isBusy: string, gpus: readonly GpuState[]): Verdict {
  const watts = gpus.flatMap((gpu) => gpu.power ?? []);
  const power = watts.length > 0 ? `, at ${formatWhole(mean(watts))} W` : '';
  return {
    bottleneck: 'gpu',
    cause: 'gpu-busy',
    confidence: 0.65,
    sentence: `GPU-bound, as far as telemetry shows: ${isBusy}${power}`,
    second: null,
    next: [`see which kernels take the time: ${MEASURE.slice(MEASURE.indexOf('whyslow'))}`],
  };
}

function throttled(gpu: GpuState, { limit, clock, maximum }: Throttle): Verdict {
  const by = limit ? HELD_BY[limit.by] : 'something';
  const of = maximum > clock ? ` of ${formatWhole(maximum)}` : '';
  const which = gpu.index === null ? 'the GPU' : `GPU ${gpu.index}`;
  return {
    bottleneck: 'gpu',
    cause: 'gpu-throttled',
    confidence: limit ? 0.75 : 0.6,
    sentence: `GPU-bound and throttled: ${by} holds the clock of ${which} at ${formatWhole(clock)}${of} MHz`,
    second: null,
    next: [
      'see what holds the clock down: nvidia-smi -q -d PERFORMANCE,CLOCK,POWER,TEMPERATURE',
      'cool the GPU, raise its power limit, unlock its clocks, or leave it out',
    ],
  };
}
