import { type Amounts, meanAmounts, total } from './amounts.js';
import { WAIT_ROLES } from './phases.js';
import { slopeOf } from './slope.js';
import type { RankRecords, RecordedStep } from './step-records.js';

/**
 * `whole`: training_step is the iteration and holds the waits (data_wait, host_to_device, training_metrics).
 * `beside`: it is the model's part, and the waits come before and after it. lmms-engine writes it so.
 */
export type Layout = 'whole' | 'beside';

/** Phases may exceed the step they lie in by so much: each pair of marks has its own error. */
const TOLERANCE = 1.02;

/** Steps and amounts are parallel, warm-up left out. */
export function findLayout(
  records: RankRecords,
  steps: readonly RecordedStep[],
  amounts: readonly Amounts[],
): Layout {
  const mean = meanAmounts(amounts);
  if (total(mean, WAIT_ROLES) === 0) return 'whole';
  // lmms-engine's trainer closes host_to_device before training_step and opens training_metrics after it.
  if (records.bare && total(mean, ['data']) === 0) return 'beside';
  return byStarts(records, steps) ?? byArithmetic(mean) ?? bySlope(records, amounts) ?? 'whole';
}

/** Where phases lie, if their start times are known. Only on one clock: the device runs behind the host. */
function byStarts(records: RankRecords, steps: readonly RecordedStep[]): Layout | null {
  const place = records.phases.findIndex((p) => p.role === 'whole');
  if (place < 0) return null;
  let [inside, outside] = [0, 0];
  for (const step of steps) {
    const wholes = (step.parts.get(place) ?? []).filter((p) => !Number.isNaN(p.start));
    if (wholes.length === 0) continue;
    for (const [other, parts] of step.parts) {
      const { role, onHost } = records.phases[other]!;
      if (!(WAIT_ROLES as readonly string[]).includes(role) || onHost !== records.phases[place]!.onHost)
        continue;
      for (const { start, ns } of parts) {
        const middle = start + ns / 2;
        if (Number.isNaN(middle)) continue;
        if (wholes.some((w) => middle >= w.start && middle <= w.start + w.ns)) inside++;
        else outside++;
      }
    }
  }
  return inside + outside === 0 ? null : inside >= outside ? 'whole' : 'beside';
}

/** What does not fit lies beside. */
function byArithmetic(mean: Amounts): Layout | null {
  const whole = total(mean, ['whole']);
  return total(mean, [...WAIT_ROLES, 'compute']) > TOLERANCE * whole ? 'beside' : null;
}

/** A step that holds its waits takes longer when they do. */
function bySlope(records: RankRecords, amounts: readonly Amounts[]): Layout | null {
  const clockOf = (role: string) => records.phases.find((p) => p.role === role)?.onHost;
  if (clockOf('data') !== clockOf('whole')) return null;
  const waits = amounts.map((a) => total(a, ['data']));
  const fit = slopeOf(
    waits,
    amounts.map((a) => total(a, ['whole'])),
  );
  return fit && fit.slope + 2 * fit.error < 0.5 ? 'beside' : null;
}

/**
 * Which part of a wait that the host timed the device felt: while the device still has work the host may wait for free.
 * Null when waits are too alike to tell. The device's step n holds the wait before batch n however far the host is ahead.
 */
export function exposedShare(waits: readonly number[], steps: readonly number[]): number | null {
  const fit = slopeOf(waits, steps);
  return fit && Math.max(0, Math.min(1, fit.slope));
}
