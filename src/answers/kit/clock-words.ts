import { formatWhole, formatWholePercent } from '../../base/units.js';
import type { ClockLimit, SlowGpu } from '../../telemetry/slow-gpu.js';

const LIMITED_BY: Readonly<Record<ClockLimit['by'], string>> = {
  thermal: 'thermal slowdown',
  slowdown: 'hardware slowdown',
  powerCap: 'at its power limit',
};

/** `thermal slowdown 34% of the time`. */
export const limitWords = ({ by, share: part }: ClockLimit) =>
  `${LIMITED_BY[by]} ${formatWholePercent(part)} of the time`;

/** `its GPU ran at 1,050 MHz against 1,755 on the others (thermal slowdown 34% of the time)`. */
export function slowGpuWords({ clock, usualClock, limit }: SlowGpu, ranks: number): string {
  const whose = ranks > 1 ? 'their GPUs' : 'its GPU';
  const reason = limit ? ` (${limitWords(limit)})` : '';
  return `${whose} ran at ${formatWhole(clock)} MHz against ${formatWhole(usualClock)} on the others${reason}`;
}
