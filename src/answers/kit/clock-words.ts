import { formatWhole, formatWholePercent } from '../../base/units.js';
import type { Throttle } from '../../telemetry/busy-gpu.js';
import type { ClockLimit, SlowGpu } from '../../telemetry/slow-gpu.js';

/** What holds a clock down, and what nvidia-smi calls the state. */
const LIMITS: Readonly<Record<ClockLimit['by'], { readonly holder: string; readonly state: string }>> = {
  thermal: { holder: 'heat', state: 'thermal slowdown' },
  slowdown: { holder: 'the hardware', state: 'hardware slowdown' },
  powerCap: { holder: 'the power limit', state: 'at its power limit' },
};

/** `heat`. */
export const holderOf = (limit: ClockLimit | null): string => (limit ? LIMITS[limit.by].holder : 'something');

/** `heat holds the clock of GPU 3 at 1,050 of 1,980 MHz`. `which`: `the clock of GPU 3`. */
export function heldClock({ limit, clock, maximum }: Throttle, which: string): string {
  const of = maximum > clock ? ` of ${formatWhole(maximum)}` : '';
  return `${holderOf(limit)} holds ${which} at ${formatWhole(clock)}${of} MHz`;
}

/** `thermal slowdown 34% of the time`. */
export const limitWords = ({ by, share }: ClockLimit) =>
  `${LIMITS[by].state} ${formatWholePercent(share)} of the time`;

/** `its GPU ran at 1,050 MHz against 1,755 on the others (thermal slowdown 34% of the time)`. */
export function slowGpuWords({ clock, usualClock, limit }: SlowGpu, ranks: number): string {
  const whose = ranks > 1 ? 'their GPUs' : 'its GPU';
  const reason = limit ? ` (${limitWords(limit)})` : '';
  return `${whose} ran at ${formatWhole(clock)} MHz against ${formatWhole(usualClock)} on the others${reason}`;
}
