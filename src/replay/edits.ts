import { type Plan, SYNC } from './plan.js';

/** Fixes as changes of a plan. All of them change the copy they are given. */

/** Work that passes takes `factor` of its time; 0 removes it. */
export function scaleWorks(plan: Plan, test: (work: number) => boolean, factor: number): void {
  const { duration } = plan.works;
  for (let w = 0; w < plan.works.length; w++) {
    if (duration[w]! < 0 || !test(w)) continue;
    duration[w] = factor === 0 ? -1 : duration[w]! * factor;
  }
}

/** Calls that pass are never made: their host time, their work and what they waited for are gone. */
export function removeCalls(plan: Plan, test: (node: number) => boolean): void {
  const { nodes, works } = plan;
  for (let n = 0; n < nodes.length; n++) {
    if (!test(n)) continue;
    nodes.hostWork[n] = 0;
    silenceCall(plan, n);
    for (let w = nodes.firstWork[n]!; w < nodes.firstWork[n]! + nodes.workCount[n]!; w++)
      works.duration[w] = -1;
  }
}

/** The operator around the call is gone, but not the Python before it. */
export function removeOperators(plan: Plan, test: (node: number) => boolean): void {
  const { nodes, works } = plan;
  for (let n = 0; n < nodes.length; n++) {
    if (!test(n)) continue;
    nodes.hostWork[n]! -= nodes.inOperator[n]!;
    silenceCall(plan, n);
    for (let w = nodes.firstWork[n]!; w < nodes.firstWork[n]! + nodes.workCount[n]!; w++)
      works.duration[w] = -1;
  }
}

function silenceCall(plan: Plan, n: number): void {
  const { nodes } = plan;
  nodes.call[n] = 0;
  nodes.inOperator[n] = 0;
  nodes.events[n] = 0;
  nodes.frames[n] = 0;
  nodes.graphKernels[n] = 0;
  skipWait(plan, n);
}

/** The host no longer waits in calls that pass. */
export function skipWaits(plan: Plan, test: (node: number) => boolean): void {
  for (let n = 0; n < plan.nodes.length; n++) if (test(n)) skipWait(plan, n);
}

function skipWait(plan: Plan, n: number): void {
  const { nodes, streamBusyUntil } = plan;
  nodes.waitsFor[n] = -1;
  if (nodes.kind[n] === SYNC)
    nodes.awaited.fill(-1, n * streamBusyUntil.length, (n + 1) * streamBusyUntil.length);
}

/** Host time of calls that pass, recorded events included, shrinks to `factor`. */
export function scaleHost(plan: Plan, test: (node: number) => boolean, factor: number): void {
  const { nodes } = plan;
  for (let n = 0; n < nodes.length; n++) {
    if (!test(n)) continue;
    nodes.hostWork[n]! *= factor;
    nodes.inOperator[n]! *= factor;
    nodes.call[n]! *= factor;
    nodes.events[n] = Math.round(nodes.events[n]! * factor);
    nodes.frames[n] = Math.round(nodes.frames[n]! * factor);
  }
}

/** A fixed cost for the host once a step, before the first call that passes. */
export function addHostPerStep(plan: Plan, test: (node: number) => boolean, ns: number): void {
  let last = -1;
  for (let n = 0; n < plan.nodes.length; n++) {
    if (!test(n) || plan.nodes.step[n] === last) continue;
    plan.nodes.hostWork[n]! += ns;
    last = plan.nodes.step[n]!;
  }
}

/** Input is there when it is asked for. */
export function dropInputWaits(plan: Plan): void {
  plan.nodes.data.fill(0);
}

/** Takes time away where there is most of it: for waits whose place is known only as "in the long ones". */
export function takeFromLongest(column: Float64Array, total: number, atMost: number): void {
  const order = Array.from(column.keys()).sort((a, b) => column[b]! - column[a]!);
  let left = total;
  for (const n of order) {
    if (left <= 0 || column[n]! <= 0) return;
    const taken = Math.min(left, column[n]!, atMost);
    column[n]! -= taken;
    left -= taken;
  }
}
