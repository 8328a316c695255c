import { type Ns, ns } from '../base/units.js';
import type { Part, RankRecords, RecordedStep } from './step-records.js';

/** The end of a pass, and of the wait at its end, are marked one after the other. ns. */
const SAME_MOMENT = 1_000;

/**
 * Computing in each step behind which gradients may already have been sent. DDP and FSDP send them while the backward pass
 * goes on and wait for them at its end. A log has the wait, not when a gradient was sent: that may have been at any time
 * since the pass began.
 */
export function computingBeforeWaits({ phases }: RankRecords, steps: readonly RecordedStep[]): Ns[] {
  const backward = phases.findIndex(({ name }) => name === 'backward');
  const collectives = [...phases.keys()].filter((phase) => phases[phase]!.role === 'comms');
  return steps.map(({ parts }) => {
    const waits = collectives.flatMap((phase) => parts.get(phase) ?? []);
    const before = (parts.get(backward) ?? []).map((pass) => {
      const wait = waits.find((w) => endsPass(w, pass));
      return wait ? wait.start - pass.start : 0;
    });
    return ns(before.reduce((sum, time) => sum + time, 0));
  });
}

/** Without start times (NaN) it does not. */
function endsPass(wait: Part, pass: Part): boolean {
  const passEnd = pass.start + pass.ns;
  return wait.start >= pass.start && wait.start <= passEnd && wait.start + wait.ns >= passEnd - SAME_MOMENT;
}
