import type { Program } from './exchange.js';
import type { Job } from './job.js';
import type { Machine } from './machine.js';
import { beginBackward, beginForward, clipGradients, endBackward, endForward, launchAll } from './passes.js';
import type { KernelPlan } from './work-plan.js';

/**
 * One forward, one backward (1F1B): a stage warms up with as many micro-batches as there are stages behind it. With tensor
 * parallel groups (mesh3d), each half of a stage's work ends in an all-reduce that computing waits for.
 */
export function* pipeline(m: Machine, job: Job): Program {
  const { settings, layout, work } = job;
  const { stages, microBatches } = settings;
  const group = layout.groupOf(m.rank, 'pp')!;
  const stage = group.ranks.indexOf(m.rank);
  const before = stage > 0 ? group.ranks[stage - 1]! : -1;
  const behind = stage < stages - 1 ? group.ranks[stage + 1]! : -1;
  const share = 1 / (2 * microBatches);

  function* receive(from: number): Program {
    if (from >= 0) yield* m.after(yield* m.collective(group, 'recv', work.bytes.pp, share, from));
  }
  function* send(to: number): Program {
    if (to >= 0) yield* m.collective(group, 'send', work.bytes.pp, share, to);
  }
  const tp = layout.groupOf(m.rank, 'tp');
  function* compute(kernels: readonly KernelPlan[]): Program {
    if (!tp) return launchAll(m, kernels);
    const middle = Math.ceil(kernels.length / 2);
    for (const part of [kernels.slice(0, middle), kernels.slice(middle)]) {
      launchAll(m, part);
      yield* m.after(yield* m.collective(tp, 'all_reduce', work.bytes.tp, 1 / (4 * microBatches)));
    }
  }
  function* ahead(micro: number): Program {
    yield* receive(before);
    const start = beginForward(m, micro);
    yield* compute(work.forward);
    endForward(m, micro, start);
    yield* send(behind);
  }
  function* back(micro: number): Program {
    yield* receive(behind);
    const start = beginBackward(m);
    yield* compute(work.backward);
    yield* send(before);
    endBackward(m, micro, start);
  }

  const warmUp = Math.min(stages - stage - 1, microBatches);
  for (let i = 0; i < warmUp; i++) yield* ahead(i);
  for (let i = 0; i < microBatches - warmUp; i++) {
    yield* ahead(warmUp + i);
    yield* back(i);
  }
  for (let i = microBatches - warmUp; i < microBatches; i++) yield* back(i);

  const dp = layout.groupOf(m.rank, 'dp');
  if (dp) yield* m.after(yield* m.collective(dp, 'all_reduce', work.bytes.dp, 1));
  yield* clipGradients(m, job);
}
