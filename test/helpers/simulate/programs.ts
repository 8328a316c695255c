import type { Meeting, Program } from './exchange.js';
import type { Job } from './job.js';
import type { Machine } from './machine.js';
import { beginBackward, beginForward, clipGradients, endBackward, endForward, launchAll } from './passes.js';
import type { KernelPlan } from './work-plan.js';

/** Buckets of gradients are reduced while earlier layers still go backward. */
export function* ddp(m: Machine, { settings: { layers }, layout, work }: Job): Program {
  const group = layout.groupOf(m.rank, 'world')!;
  const forward = beginForward(m, null);
  for (let layer = 0; layer < layers; layer++) launchAll(m, work.forward);
  endForward(m, null, forward);

  const backward = beginBackward(m);
  for (let layer = layers - 1; layer >= 0; layer--) {
    launchAll(m, work.backward);
    const reduced = yield* m.collective(group, 'all_reduce', work.bytes.world, 1 / layers);
    if (layer === 0) yield* m.after(reduced);
  }
  endBackward(m, null, backward);
}

/** Parameters are gathered a few layers ahead, twice; gradients are scattered. The last layer stays gathered. */
export function* fsdp(m: Machine, { settings: { layers, prefetch }, layout, work }: Job): Program {
  const group = layout.groupOf(m.rank, 'world')!;
  const bytes = work.bytes.world;
  const share = 1 / (3 * layers - 1);
  const gathered = new Map<number, Meeting>();
  function* gather(layer: number): Program {
    if (gathered.has(layer)) return;
    gathered.set(layer, yield* m.collective(group, 'all_gather', bytes, share));
  }

  const forward = beginForward(m, null);
  for (let layer = 0; layer < layers; layer++) {
    for (let l = layer; l <= Math.min(layers - 1, layer + prefetch); l++) yield* gather(l);
    yield* m.after(gathered.get(layer)!);
    launchAll(m, work.forward);
  }
  endForward(m, null, forward);

  for (let layer = 0; layer < layers - 1; layer++) gathered.delete(layer);
  const backward = beginBackward(m);
  for (let layer = layers - 1; layer >= 0; layer--) {
    for (let l = layer; l >= Math.max(0, layer - prefetch); l--) yield* gather(l);
    yield* m.after(gathered.get(layer)!);
    launchAll(m, work.backward);
    const scattered = yield* m.collective(group, 'reduce_scatter', bytes, share);
    if (layer === 0) yield* m.after(scattered);
  }
  endBackward(m, null, backward);
}

/** Tensor parallel inside a layer, where computing waits for it; data parallel across, where it does not. */
export function* mesh2d(m: Machine, job: Job): Program {
  const { layers } = job.settings;
  const { work, layout } = job;
  const tp = layout.groupOf(m.rank, 'tp');
  const dp = layout.groupOf(m.rank, 'dp');
  function* block(kernels: readonly KernelPlan[]): Program {
    const middle = Math.ceil(kernels.length / 2);
    for (const part of [kernels.slice(0, middle), kernels.slice(middle)]) {
      launchAll(m, part);
      if (tp) yield* m.after(yield* m.collective(tp, 'all_reduce', work.bytes.tp, 1 / (4 * layers)));
    }
  }

  const forward = beginForward(m, null);
  for (let layer = 0; layer < layers; layer++) yield* block(work.forward);
  endForward(m, null, forward);

  const backward = beginBackward(m);
  for (let layer = layers - 1; layer >= 0; layer--) {
    yield* block(work.backward);
    if (!dp) continue;
    const reduced = yield* m.collective(dp, 'all_reduce', work.bytes.dp, 1 / layers);
    if (layer === 0) yield* m.after(reduced);
  }
  endBackward(m, null, backward);
  yield* clipGradients(m, job);
}
