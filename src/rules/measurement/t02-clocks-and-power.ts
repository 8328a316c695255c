import { largest } from '../../base/statistics.js';
import type { RankView } from '../../diagnosis/ranks/rank-view.js';
import type { RunFacts } from '../../diagnosis/run-facts.js';
import { heldWords, whole } from '../../diagnosis/words/slow-gpu.js';
import { boardPower } from '../../telemetry/board-power.js';
import type { GpuState } from '../../telemetry/gpu-state.js';
import {
  type ClockLimit,
  clockLimitOf,
  LEAST_LIMITED,
  LEAST_SAMPLES,
  type SlowGpu,
  slowAgainst,
} from '../../telemetry/slow-gpu.js';
import { evidence, percent, silent } from '../kit/kit.js';
import type { AnyRule, RankFinding } from '../kit/rule.js';

const BELOW_OTHERS = 0.9;
const BELOW_MAXIMUM = 0.85;
const STARVED = 0.4;

export const clocksAndPower: AnyRule = {
  reads: 'traces and logs',
  info: {
    id: 'T2',
    title: '“100 % busy” is not fed: clock and power say throttled or starved',
    needs: 'nvidia-smi dmon or query',
    looksFor:
      'A busy GPU whose clock is held down by heat or the hardware, is lower than that of the other GPUs of the run, or far below its own maximum; or one that draws little power although it is always busy.',
    why: 'Utilisation is the share of time in which any kernel runs, however small or slow. Clock and power tell how much it does then.',
    fix: {
      text: 'See what holds the clock down: heat, a lowered power limit, locked clocks. Cool the GPU, raise the limit, or leave the machine out.',
      code: 'nvidia-smi -q -d PERFORMANCE,CLOCK,POWER,TEMPERATURE\nnvidia-smi dmon -s pucvt -d 1      # while the job runs',
    },
    check: 'Nothing in the training changes. Compare step times before and after.',
    cost: 'hardware',
    risk: 'none',
    thresholds: [
      { name: 'held down', value: LEAST_LIMITED, unit: 'of busy time', source: 'healthy GPUs of the zoo: 0' },
      {
        name: 'clock, against other GPUs',
        value: BELOW_OTHERS,
        unit: 'of theirs',
        source: 'GPUs of one model under one power limit differ by a few per cent',
      },
      {
        name: 'clock, against its maximum',
        value: BELOW_MAXIMUM,
        unit: 'of it',
        source: 'the zoo’s H200 at its power limit: 0.91 or more',
      },
      {
        name: 'power, while busy',
        value: STARVED,
        unit: 'of the limit',
        source: 'the zoo’s loops that are always busy: 0.6 or more',
      },
    ],
  },
  check(view, run) {
    const gpu = run.gpus.get(view.rank);
    if (!gpu) return silent('no telemetry of its GPU');
    if (gpu.busySamples < LEAST_SAMPLES) return silent('its GPU was busy in too few samples');
    const found = throttled(view, gpu, run) ?? starved(view, gpu, run);
    return found ? { findings: [found] } : silent('clock and power fit a busy GPU');
  },
};

/** GPUs of the run that may be compared: of the same model, as far as known. */
const othersOf = (gpu: GpuState, run: RunFacts) =>
  [...new Set(run.gpus.values())].filter(
    (g) => g !== gpu && (g.name === null || gpu.name === null || g.name === gpu.name),
  );

interface Throttle {
  readonly title: string;
  readonly confidence: number;
}

function throttled(view: RankView, gpu: GpuState, run: RunFacts): RankFinding | null {
  const others = othersOf(gpu, run);
  const held = clockLimitOf(gpu);
  const slow = slowAgainst(gpu, others, BELOW_OTHERS);
  const maximum = largest([gpu, ...others].map((g) => g.maxClock ?? 0));
  const what = throttleOf(gpu, held, slow, maximum);
  if (!what || gpu.clock === null) return null;
  const text = [
    `${busyWords(gpu)} at ${clockWords(gpu.clock, maximum)}${held ? ` (${heldWords(held)})` : ''}`,
    ...(slow ? [`other GPUs ${whole(slow.usualClock)} MHz`] : []),
    ...(gpu.power === null ? [] : [`${whole(gpu.power)} W`]),
    ...(gpu.temperature === null ? [] : [`up to ${whole(gpu.temperature)} °C`]),
  ].join(', ');
  return {
    ...{ id: 'gpu-throttled', ...what, addresses: 'gpu', price: null },
    evidence: [evidence(view, text, Math.round(gpu.clock), 'MHz')],
  };
}

function throttleOf(
  gpu: GpuState,
  held: ClockLimit | null,
  slow: SlowGpu | null,
  maximum: number,
): Throttle | null {
  if (held?.by === 'thermal')
    return { title: 'heat holds the GPU’s clock down', confidence: slow ? 0.95 : 0.85 };
  if (held?.by === 'slowdown')
    return { title: 'the hardware holds the GPU’s clock down', confidence: slow ? 0.95 : 0.85 };
  if (slow) return { title: 'the GPU runs slower than the others of the run', confidence: 0.85 };
  // Below its maximum without a reason, or so far that the power limit cannot be the usual one.
  if (gpu.clock === null || !(gpu.clock < BELOW_MAXIMUM * maximum)) return null;
  return held
    ? { title: 'the power limit holds the GPU’s clock down', confidence: 0.6 }
    : { title: 'the GPU runs far below its own clock', confidence: 0.7 };
}

/** Always busy and hardly warm: kernels too small to fill it, or waiting in one for somebody else. */
function starved(view: RankView, gpu: GpuState, run: RunFacts): RankFinding | null {
  const device = view.source === 'trace' ? view.facts.device : null;
  const limit =
    gpu.powerLimit ??
    boardPower(gpu.name ?? device?.name ?? '', device?.totalMemory ?? null) ??
    largest([gpu, ...othersOf(gpu, run)].map((g) => g.maxPower ?? 0));
  if (gpu.power === null || gpu.utilisation === null || !(gpu.power < STARVED * limit)) return null;
  const text = `${busyWords(gpu)}, but ${whole(gpu.power)} W of ${whole(limit)}`;
  return {
    ...{ id: 'busy-but-starved', title: 'the GPU is busy without doing much: utilisation misleads' },
    ...{ confidence: 0.6, addresses: null, price: null, cost: 'free' },
    evidence: [evidence(view, text, Math.round(gpu.power), 'W')],
    fix: {
      text: 'Believe the division of the step, not utilisation: a kernel that waits for another rank, or a trickle of small ones, counts as busy.',
      code: 'whyslow diagnose RUN --all',
    },
  };
}

/** A maximum that it never left says nothing. */
const clockWords = (clock: number, maximum: number) =>
  `${whole(clock)} MHz${maximum > 1.01 * clock ? ` of ${whole(maximum)}` : ''}`;

const busyWords = ({ samples, busySamples, utilisation }: GpuState) =>
  utilisation === null ? 'it ran' : `busy in ${percent(busySamples / samples)} of samples`;
