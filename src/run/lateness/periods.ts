/** Whether there are three or more late steps, all the same distance of two or more apart. */
export function isPeriodic(late: readonly number[]): boolean {
  const distance = late[1]! - late[0]!;
  return late.length >= 3 && distance > 1 && late.every((s, i) => i === 0 || s - late[i - 1]! === distance);
}

/** Share of the late steps that must fit the period, and of the period's steps that must be late: the rest may be noise. */
const FITTING = 0.75;
/** Fewer steps that fit a period fit one by chance. */
const LEAST_FITTING = 4;

/** Whether most of many late steps are the same distance apart. Too weak to call a rank late, enough to name the pattern. */
export function isMostlyPeriodic(late: readonly number[]): boolean {
  const distances = new Set(late.slice(1).map((s, i) => s - late[i]!));
  return [...distances].some((period) => {
    if (period < 2) return false;
    return [...new Set(late.map((s) => s % period))].some((phase) => {
      const fitting = late.filter((s) => s % period === phase);
      const expected = (fitting.at(-1)! - fitting[0]!) / period + 1;
      return fitting.length >= Math.max(LEAST_FITTING, FITTING * late.length, FITTING * expected);
    });
  });
}
