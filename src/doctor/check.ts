import type { Probe } from '../machine/probe.js';

/** `skip`: it does not apply here, or cannot be seen. */
export type Status = 'pass' | 'warn' | 'fail' | 'skip';

export interface Outcome {
  readonly status: Status;
  /** What was seen. */
  readonly value: string;
  /** What to do. Null: nothing. */
  readonly advice: string | null;
}

/** One thing that may be wrong with a machine. */
export interface Check {
  readonly id: string;
  readonly title: string;
  run(probe: Probe): Promise<Outcome>;
}

export const pass = (value: string): Outcome => ({ status: 'pass', value, advice: null });
export const skip = (value: string): Outcome => ({ status: 'skip', value, advice: null });
export const warn = (value: string, advice: string): Outcome => ({ status: 'warn', value, advice });
export const fail = (value: string, advice: string): Outcome => ({ status: 'fail', value, advice });

/** `8 x NVIDIA H200`, or each where they differ. */
export const tally = (values: readonly string[]): string =>
  [...new Set(values)]
    .map((v) => (values.length > 1 ? `${values.filter((w) => w === v).length} × ${v}` : v))
    .join(', ');
