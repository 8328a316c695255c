import { mean } from '../../base/statistics.js';
import { formatWhole } from '../../base/units.js';
import type { Observed } from '../../diagnosis/observe.js';
import type { Cause } from '../../facts/causes.js';
import {
  GPU_BUSY,
  GPU_WORKS,
  isStarved,
  powerLimitOf,
  type Throttle,
  throttleOf,
} from '../../telemetry/busy-gpu.js';
import type { GpuState } from '../../telemetry/gpu-state.js';
import { LEAST_LIMITED } from '../../telemetry/slow-gpu.js';
import type { Claim, Words } from '../kit/claim.js';
import { heldClock } from '../kit/clock-words.js';
import { labelOf, MEASURE, unknown, words } from '../kit/words.js';

/** Only the files next to traces and logs. */
interface Seen {
  readonly inputs: Pick<Observed['inputs'], 'beside'>;
}

/**
 * The answer when only the output of nvidia-smi or rocm-smi exists (T1–T3). It shows whether the GPU is busy, and whether
 * its clock and power fit that, but not what it waits for. Null: there is none.
 */
export function telemetryAnswer({ inputs: { beside } }: Seen): Claim | null {
  const measured = beside.flatMap(({ evidence: { gpus = [], series } }) =>
    gpus.flatMap((gpu, i) => {
      const busy = series ? busyWhileWorking(series[i]!.utilization) : null;
      return busy === null ? [] : [{ gpu, busy }];
    }),
  );
  if (measured.length === 0)
    return beside.some(({ evidence: { gpus = [] } }) => gpus.length > 0) ? silentOnUse : null;
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
const QUERY =
  'record utilization, and power and clock with their limits: nvidia-smi --query-gpu=timestamp,index,name,utilization.gpu,clocks.sm,clocks.max.sm,power.draw,power.limit --format=csv -l 1 > gpus.csv';

/** No answer, but what was seen, and what gives one. */
const open = (cause: Cause, said: Words, next: readonly string[]): Claim => ({
  bottleneck: 'unknown',
  cause,
  confidence: 0.4,
  words: said,
  next,
});

/** Power and temperature alone. */
const silentOnUse: Claim = {
  ...open('no-evidence', unknown('the GPU telemetry does not say how busy the GPU is'), [QUERY, WATCH]),
  confidence: 0,
};

const waiting = (isBusy: string): Claim =>
  open('gpu-waits', unknown(isBusy, 'For the rest it waits, and telemetry does not show for what'), [
    WATCH,
    MEASURE,
  ]);

/** Without the power limit, a trickle of small kernels looks the same (T2). */
const busyAtMost = (isBusy: string): Claim =>
  open(
    'gpu-busy',
    unknown(
      `${isBusy}, but a trickle of small kernels counts as busy too, and the power limit is not known (best guess: gpu)`,
    ),
    [QUERY, WATCH],
  );

function starving(isBusy: string, gpu: GpuState): Claim {
  const power = `${formatWhole(gpu.power!)} of ${formatWhole(powerLimitOf(gpu)!)} W`;
  return open(
    'busy-but-starved',
    unknown(`${isBusy} and draws only ${power}: small kernels, or waits in collectives, count as busy`),
    [WATCH, MEASURE],
  );
}

function fed(isBusy: string, gpus: readonly GpuState[]): Claim {
  const watts = gpus.flatMap((gpu) => gpu.power ?? []);
  const power = watts.length > 0 ? `, at ${formatWhole(mean(watts))} W` : '';
  return {
    bottleneck: 'gpu',
    cause: 'gpu-busy',
    confidence: 0.65,
    words: words(labelOf('gpu', ', as far as telemetry shows'), `${isBusy}${power}`),
    next: ['see which kernels take the time: whyslow run -- python train.py'],
  };
}

function throttled(gpu: GpuState, throttle: Throttle): Claim {
  const which = gpu.index === null ? 'the GPU' : `GPU ${gpu.index}`;
  return {
    bottleneck: 'gpu',
    cause: 'gpu-throttled',
    confidence: throttle.limit ? 0.75 : 0.6,
    words: words(labelOf('gpu', ' and throttled'), heldClock(throttle, `the clock of ${which}`)),
    next: [
      'see what holds the clock down: nvidia-smi -q -d PERFORMANCE,CLOCK,POWER,TEMPERATURE',
      'cool the GPU, raise its power limit, unlock its clocks, or leave it out',
    ],
  };
}
