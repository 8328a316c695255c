import type { Cost } from '../cost.js';

/** Doubling the input may multiply the cost by this. Linear gives 2, quadratic 4; the rest is for a busy machine. */
const PER_DOUBLING = 3.2;

/** Smaller costs count as this much: they are mostly compilation and garbage, which come in jumps. */
export type Floor = Pick<Cost, 'cpuMs' | 'peakMb'>;

/** What is wrong with the cost of an input that was doubled this many times. Null: nothing. */
export function tooMuch(before: Floor, after: Floor, doublings: number, floor: Floor): string | null {
  for (const what of ['cpuMs', 'peakMb'] as const) {
    const most = Math.max(before[what], floor[what]) * PER_DOUBLING ** doublings;
    if (!(after[what] <= most))
      return `${what} grew from ${Math.round(before[what])} to ${Math.round(after[what])}, more than ${Math.round(most)}`;
  }
  return null;
}
