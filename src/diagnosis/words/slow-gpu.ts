import { formatWhole, formatWholePercent, share } from '../../base/units.js';
import type { Held, SlowGpu } from '../../telemetry/slow-gpu.js';

const HELD: Readonly<Record<Held['by'], string>> = {
  thermal: 'thermal slowdown',
  slowdown: 'hardware slowdown',
  powerCap: 'at its power limit',
};

export const whole = formatWhole;

/** `thermal slowdown 34 % of the time`. */
export const heldWords = ({ by, share: part }: Held) =>
  `${HELD[by]} ${formatWholePercent(share(part))} of the time`;

/** `its GPU ran at 1,050 MHz against 1,755 on the others (thermal slowdown 34 % of the time)`. */
export function slowGpuWords({ clock, usualClock, held }: SlowGpu, ranks: number): string {
  const whose = ranks > 1 ? 'their GPUs' : 'its GPU';
  const reason = held ? ` (${heldWords(held)})` : '';
  return `${whose} ran at ${formatWhole(clock)} MHz against ${formatWhole(usualClock)} on the others${reason}`;
}
