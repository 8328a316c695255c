import { clip, lengthOf, type Spans, SpanUnion, subtract, union } from '../base/intervals.js';
import { type Ns, ns } from '../base/units.js';
import { WorkSort } from '../facts/work-sort.js';
import { countedSteps, type Plan } from './plan.js';
import type { Replayed } from './replay.js';

/** What the device does in a replay, without overlap, as in time accounting. Per step. */
export interface BusyTime {
  readonly compute: Ns;
  readonly comms: Ns;
  readonly copy: Ns;
  /** Parts of `copy`. */
  readonly toDevice: Ns;
  readonly toHost: Ns;
}

export function busyTime(plan: Plan, { start, end, frontier }: Replayed): BusyTime {
  const { works, steps } = plan;
  const order = inOrderOfStart(start);
  const from = steps.includesFirst ? steps.begin : frontier[0]!;
  const to = frontier[steps.length - 1]!;
  const spansOf = (...sorts: readonly number[]): Spans => {
    const spans = new SpanUnion();
    for (const w of order) if (sorts.includes(works.sort[w]!)) spans.add(start[w]!, end[w]!);
    return clip(spans.finish(), from, to);
  };
  const compute = spansOf(WorkSort.compute);
  const comms = spansOf(WorkSort.comms);
  const covered = union(compute, comms);
  const perStep = (spans: Spans) => ns(lengthOf(spans) / countedSteps(steps));
  const exposed = (...sorts: readonly number[]) => perStep(subtract(spansOf(...sorts), covered));
  return {
    compute: perStep(compute),
    comms: perStep(subtract(comms, compute)),
    copy: exposed(WorkSort.toDevice, WorkSort.toHost, WorkSort.move),
    toDevice: exposed(WorkSort.toDevice),
    toHost: exposed(WorkSort.toHost),
  };
}

/** Work of a single stream starts in the plan's order: nothing to sort. */
function inOrderOfStart(start: Float64Array): Uint32Array {
  const order = new Uint32Array(start.length);
  let n = 0;
  let sorted = true;
  for (let w = 0; w < start.length; w++) {
    if (Number.isNaN(start[w]!)) continue;
    if (n > 0 && start[w]! < start[order[n - 1]!]!) sorted = false;
    order[n++] = w;
  }
  const present = order.subarray(0, n);
  return sorted ? present : present.sort((a, b) => start[a]! - start[b]!);
}
