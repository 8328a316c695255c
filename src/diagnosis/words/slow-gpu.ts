import type { Held, SlowGpu } from '../../telemetry/slow-gpu.js';

const HELD: Readonly<Record<Held['by'], string>> = {
  thermal: 'thermal slowdown',
  slowdown: 'hardware slowdown',
  powerCap: 'at its power limit',
};

/** `thermal slowdown 34 % of the time`. */
export const heldWords = ({ by, share }: Held) => `${HELD[by]} ${Math.round(100 * share)} % of the time`;

export const whole = (value: number) => Math.round(value).toLocaleString('en-US');

/** `its GPU ran at 1,050 MHz against 1,755 on the others (thermal slowdown 34 % of the time)`. */
export function slowGpuWords({ clock, usualClock, held }: SlowGpu, ranks: number): string {
  const whose = ranks > 1 ? 'their GPUs' : 'its GPU';
  const why = held ? ` (${heldWords(held)})` : '';
  return `${whose} ran at ${whole(clock)} MHz against ${whole(usualClock)} on the others${why}`;
}
