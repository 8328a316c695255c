import { type Plan, SYNC } from './plan.js';

/** Fixes as edits of a plan. Each changes the plan it is given: pass a copy. `test` picks works or nodes by index. */

/** Scales the duration of work; a factor of 0 removes it. */
export function scaleWorks(plan: Plan, test: (work: number) => boolean, factor: number): void {
  const { duration } = plan.works;
  for (let w = 0; w < plan.works.length; w++) {
    if (duration[w]! < 0 || !test(w)) continue;
    duration[w] = factor === 0 ? -1 : duration[w]! * factor;
  }
}

/** Removes calls with the host time before them, their work and their waits. */
export function removeCalls(plan: Plan, test: (node: number) => boolean): void {
  for (let n = 0; n < plan.nodes.length; n++) {
    if (!test(n)) continue;
    plan.nodes.hostWork[n] = 0;
    plan.nodes.events[n] = 0;
    removeCall(plan, n);
  }
}

/** Removes calls with the operators around them, but not the Python before. */
export function removeOperators(plan: Plan, test: (node: number) => boolean): void {
  const { hostWork, inOperator, call, events, length } = plan.nodes;
  for (let n = 0; n < length; n++) {
    if (!test(n)) continue;
    const before = hostWork[n]! + call[n]!;
    hostWork[n]! -= inOperator[n]!;
    // The Python that stays is as dense with events as it was.
    events[n] = before > 0 ? Math.ceil((events[n]! * hostWork[n]!) / before) : 0;
    removeCall(plan, n);
  }
}

function removeCall(plan: Plan, n: number): void {
  const { nodes, works } = plan;
  nodes.call[n] = 0;
  nodes.inOperator[n] = 0;
  nodes.frames[n] = 0;
  nodes.graphKernels[n] = 0;
  nodes.tritonLaunches[n] = 0;
  works.duration.fill(-1, nodes.firstWork[n]!, nodes.firstWork[n]! + nodes.workCount[n]!);
  skipWait(plan, n);
}

/** The host no longer waits in these calls. */
export function skipWaits(plan: Plan, test: (node: number) => boolean): void {
  for (let n = 0; n < plan.nodes.length; n++) if (test(n)) skipWait(plan, n);
}

function skipWait(plan: Plan, n: number): void {
  const { nodes, streamBusyUntil } = plan;
  nodes.waitsFor[n] = -1;
  const streams = streamBusyUntil.length;
  if (nodes.kind[n] === SYNC) nodes.awaited.fill(-1, n * streams, (n + 1) * streams);
}

/** Scales the host time of calls and the events recorded in it. */
export function scaleHost(plan: Plan, test: (node: number) => boolean, factor: number): void {
  const { nodes } = plan;
  for (let n = 0; n < nodes.length; n++) {
    if (!test(n)) continue;
    nodes.hostWork[n]! *= factor;
    nodes.inOperator[n]! *= factor;
    nodes.call[n]! *= factor;
    nodes.events[n] = Math.ceil(nodes.events[n]! * factor);
    nodes.frames[n] = Math.round(nodes.frames[n]! * factor);
    nodes.tritonLaunches[n] = Math.round(nodes.tritonLaunches[n]! * factor);
  }
}

/** Adds host time once a step, before the first of these calls. */
export function addHostPerStep(plan: Plan, test: (node: number) => boolean, ns: number): void {
  let last = -1;
  for (let n = 0; n < plan.nodes.length; n++) {
    if (!test(n) || plan.nodes.step[n] === last) continue;
    plan.nodes.hostWork[n]! += ns;
    last = plan.nodes.step[n]!;
  }
}

/** Every batch is ready when it is asked for. */
export function dropInputWaits(plan: Plan): void {
  plan.nodes.data.fill(0);
  plan.pace = 0;
}

/** Every step waits this much longer for its batch, before its first call. */
export function addInputWaits(plan: Plan, ns: number): void {
  const { nodes } = plan;
  for (let n = 0; n < nodes.length; n++)
    if (n === 0 || nodes.step[n] !== nodes.step[n - 1]) nodes.data[n]! += ns;
  if (plan.pace > 0) plan.pace += ns;
}

/** Input takes this many times as long. */
export function scaleInput(plan: Plan, factor: number): void {
  const { data, length } = plan.nodes;
  for (let n = 0; n < length; n++) data[n]! *= factor;
  plan.pace *= factor;
}

/** Takes `total` from the largest values first, at most `atMost` from each: for waits known only to be in the long ones. */
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
