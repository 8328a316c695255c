import type { Program } from './exchange.js';
import type { Job } from './job.js';
import type { Machine } from './machine.js';
import type { Moment } from './recording.js';
import type { KernelPlan } from './work-plan.js';

/** Parts shared by all kinds of parallel training. */

export function beginForward(m: Machine, micro: number | null): Moment {
  // Before the phase begins: this happens before the model is called.
  if (!micro) hiccups(m);
  return m.mark;
}

export function endForward(m: Machine, micro: number | null, from: Moment): void {
  m.phase('forward', micro, from);
}

export function beginBackward(m: Machine): Moment {
  const from = m.mark;
  m.inBackward(true);
  return from;
}

export function endBackward(m: Machine, micro: number | null, from: Moment): void {
  m.inBackward(false);
  m.phase('backward', micro, from);
}

export function launchAll(m: Machine, kernels: readonly KernelPlan[]): void {
  for (const { operator, kernel, us } of kernels) m.launch(operator, kernel, us);
}

/** All ranks need the norm of all gradients: an all-reduce of one number. */
export function* clipGradients(m: Machine, { layout }: Job): Program {
  yield* m.after(yield* m.collective(layout.groupOf(m.rank, 'world')!, 'all_reduce', 4, 0));
}

/** Faults that strike once a step: a recompiled graph, or a garbage collection that nothing records. */
function hiccups(m: Machine): void {
  const { compileUs, gcUs } = m.faults;
  if (compileUs > 0) {
    const span = m.open('user_annotation', '_compile.compile_inner (dynamo_timed)');
    m.stall(compileUs);
    m.close(span);
  }
  m.stall(gcUs);
}
