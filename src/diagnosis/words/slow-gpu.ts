import type { ClockLimit, SlowGpu } from '../../telemetry/slow-gpu.js';

const HELD: Readonly<Record<ClockLimit['by'], string>> = {
  thermal: 'thermal slowdown',
  slowdown: 'hardware slowdown',
  powerCap: 'at its power limit',
};

/** `thermal slowdown 34 % of the time`. */
export const heldWords = ({ by, share }: ClockLimit) =>
  `${HELD[by]} ${Math.round(100 * share)} % of the time`;

export const whole = (value: number) => Math.round(value).toLocaleString('en-US');

/** `its GPU ran at 1,050 MHz against 1,755 on the others (thermal slowdown 34 % of the time)`. */
export function slowGpuWords({ clock, usualClock, limit }: SlowGpu, ranks: number): string {
  const whose = ranks > 1 ? 'their GPUs' : 'its GPU';
  const why = limit ? ` (${heldWords(limit)})` : '';
  return `${whose} ran at ${whole(clock)} MHz against ${whole(usualClock)} on the others${why}`;
}
