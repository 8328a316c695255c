/** A number that a rule decides by. It is written once: `whyslow rules` prints it and the check uses `value`. */
export interface Threshold<Value extends number = number> {
  readonly name: string;
  /** In `unit`. */
  readonly value: Value;
  readonly unit: string;
  /** Where the number comes from: a measurement, a paper, another tool. */
  readonly source: string;
}

/** `threshold('input wait', share(0.05), 'of the step', 'XProf: 5 %')`. */
export function threshold<Value extends number>(
  name: string,
  value: Value,
  unit: string,
  source: string,
): Threshold<Value> {
  return { name, value, unit, source };
}

/** The source of thresholds that keep small gains out. */
export const WITHIN_NOISE = 'below it the gain is within noise';
