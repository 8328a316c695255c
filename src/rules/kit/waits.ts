import type { TraceView } from '../../diagnosis/ranks/rank-view.js';
import { WorkSort } from '../../facts/time-class.js';
import { removeCalls, removeOperators, skipWaits, takeFromLongest } from '../../replay/edits.js';
import { type Plan, SYNC } from '../../replay/plan.js';
import { Role } from '../../traces/detail/roles.js';
import { copiesToHost } from './host.js';
import { type Pauses, pausesOf } from './pauses.js';
import { priceOf } from './price.js';
import { type Price, type Silent, threshold } from './rule.js';
import { has, workTime } from './work.js';

/** From this many on, the model is written so that shapes depend on values. */
export const SHAPES = threshold(
  'results whose size depends on data',
  4,
  'a step',
  'fewer are single operators, not a way of writing the model',
);

const isRead = (roles: number) => has(roles, Role.reads) && !has(roles, Role.nanCheck);

/** Anomaly detection looks for NaN after every backward node; models check a loss or two. A step. */
export const NAN_CHECKS = threshold(
  'NaN checks in backward',
  10,
  'a step',
  'anomaly detection makes one for every node; models check a loss or two',
);

const inBackward = (roles: number) => has(roles, Role.backward);

/** NaN checks in backward and reads of their answers, a step. Null: anomaly detection is off. */
export function anomalyChecks(view: TraceView): { readonly checks: number; readonly reads: number } | null {
  const { hasGpuWork } = view.facts;
  const launches = (role: number) =>
    workTime(view, (_, roles) => has(roles, role) && inBackward(roles)).count;
  const checks = hasGpuWork
    ? launches(Role.nanCheck)
    : callsInBackward(view, /^aten::(?:isnan|_is_any_true)$/);
  if (checks < NAN_CHECKS.value) return null;
  return { checks, reads: hasGpuWork ? launches(Role.reads) : callsInBackward(view, /^aten::item$/) };
}

/** A step. An operator's roles are those of all its calls, so a few of them may be elsewhere. */
function callsInBackward({ facts: { detail } }: TraceView, name: RegExp): number {
  const passing = detail?.operators.filter((o) => name.test(o.name) && inBackward(o.roles)) ?? [];
  return passing.reduce((sum, operator) => sum + operator.count, 0) / (detail?.steps ?? 1);
}

/** How often per step the host waits for the GPU, by what for. */
export interface Waits {
  readonly reads: number;
  readonly shapes: number;
  readonly copies: number;
  readonly other: number;
}

export function waitsOf(view: TraceView): Waits {
  const counts = { reads: 0, shapes: 0, copies: 0, other: 0 };
  const plan = view.facts.detail?.plan;
  if (!plan) return counts;
  const pauses = pausesOf(view);
  const { nodes, steps } = plan;
  for (let n = 0; n < nodes.length; n++) {
    const roles = nodes.roles[n]!;
    if (has(roles, Role.data | Role.nanCheck) || !isWait(plan, n)) continue;
    if (isOfCheckpoint(pauses, plan, n)) continue;
    if (nodes.kind[n] !== SYNC) counts.copies++;
    else if (isRead(roles)) counts.reads++;
    else if (has(roles, Role.sizesFromData)) counts.shapes++;
    else counts.other++;
  }
  return {
    reads: counts.reads / steps.length,
    shapes: counts.shapes / steps.length,
    copies: counts.copies / steps.length,
    other: counts.other / steps.length,
  };
}

/** Shapes do not depend on values, as far as the host's waits show: a CUDA graph could be recorded. */
export const hasFixedShapes = (view: TraceView): boolean => waitsOf(view).shapes < SHAPES.value;

/**
 * The host waits in this call. Copies of batches to the device make it wait too, and so does freed memory; those are left to
 * `pageable-copies` and `allocator-churn`.
 */
function isWait(plan: Plan, n: number): boolean {
  const { nodes } = plan;
  if (has(nodes.roles[n]!, Role.freesMemory)) return false;
  if (nodes.kind[n] !== SYNC) return isAwaitedCopy(plan, n);
  const streams = plan.streamBusyUntil.length;
  return nodes.awaited.subarray(n * streams, (n + 1) * streams).some((w) => w >= 0);
}

const isAwaitedCopy = (plan: Plan, n: number) => copiesToHost(plan, n) && plan.nodes.waitsFor[n]! >= 0;

/** Copies of a checkpoint are left to `checkpoint-in-step`. */
const isOfCheckpoint = (pauses: Pauses | Silent, plan: Plan, n: number) =>
  'copied' in pauses && pauses.copied === 'checkpoint' && isAwaitedCopy(plan, n);

/**
 * The step without reads of GPU values, and with sizes that are known beforehand (padding, capacity). What is done with the
 * values goes too: arithmetic on the host, pauses after large copies, what is computed only to be read, and logging.
 */
export function priceWithoutReads(view: TraceView): Price | null {
  const pauses = pausesOf(view);
  return priceOf(view, (plan) => {
    const { roles, hostWork } = plan.nodes;
    const goes = (n: number) =>
      (isRead(roles[n]!) || isAwaitedCopy(plan, n)) && !isOfCheckpoint(pauses, plan, n);
    const computed = computedForReads(view, plan, goes);
    dropArithmetic(plan, goes);
    // Between computing a value and reading it, Python does nothing else.
    const logged = loggedValues(plan, goes);
    const isLoop = (n: number) => computed.has(n) || logged.has(n) || (goes(n) && computed.has(n - 1));
    removeOperators(plan, (n) => goes(n) && !isLoop(n));
    removeCalls(plan, isLoop);
    skipWaits(plan, (n) => !has(roles[n]!, Role.data) && isWait(plan, n) && !isOfCheckpoint(pauses, plan, n));
    if ('copied' in pauses && pauses.copied === 'results')
      takeFromLongest(hostWork, pauses.perStep * plan.steps.length, pauses.longest.dur);
  });
}

/** Arithmetic on the host between a read and the next call is on the value that was read. */
function dropArithmetic({ nodes }: Plan, isRemoved: (node: number) => boolean): void {
  for (let n = 1; n < nodes.length; n++)
    if (isRemoved(n - 1) && !isRemoved(n)) nodes.hostWork[n]! -= nodes.arithmetic[n]!;
}

/** A scalar. */
const VALUE_BYTES = 8;
/** Kernels on scalars take less (ns). */
const TINY = 5000;

/**
 * Calls that handle a value which was read and is sent back to the device: `self.log("loss", loss.item())`, where Lightning
 * keeps a running mean of it on the GPU. They end where the model goes on.
 */
function loggedValues(plan: Plan, isRead: (node: number) => boolean): Set<number> {
  const { nodes, works } = plan;
  const logged = new Set<number>();
  const isOnScalar = (n: number) =>
    nodes.kind[n] === SYNC ||
    (nodes.workCount[n] === 1 && works.duration[nodes.firstWork[n]!]! <= TINY && !isRead(n));
  for (let n = 1; n < nodes.length; n++) {
    if (!isRead(n - 1) || !sendsValue(plan, n)) continue;
    for (let m = n; m < nodes.length && m - n <= MOST_FOR_A_VALUE && isOnScalar(m); m++) {
      if (has(nodes.roles[m]!, OF_THE_MODEL) || nodes.step[m] !== nodes.step[n]) break;
      logged.add(m);
    }
  }
  return logged;
}

const OF_THE_MODEL = Role.forwardOp | Role.backward | Role.optimizer | Role.data;

function sendsValue({ nodes, works }: Plan, n: number): boolean {
  const work = nodes.firstWork[n]!;
  if (nodes.workCount[n] !== 1 || works.sort[work] !== WorkSort.toDevice) return false;
  return works.bytes[work]! > 0 && works.bytes[work]! <= VALUE_BYTES;
}

/** More launches between two reads are part of the model. */
const MOST_FOR_A_VALUE = 6;
const COMPUTES_VALUES: readonly string[] = ['reduction', 'elementwise', 'cast', 'fill'];

/** A few reductions and elementwise kernels between two reads compute the second value: `p.grad.norm().item()` in a loop. */
function computedForReads(view: TraceView, plan: Plan, isRemoved: (node: number) => boolean): Set<number> {
  const { nodes, works } = plan;
  const computed = new Set<number>();
  let since: number[] | null = null;
  for (let n = 0; n < nodes.length; n++) {
    if (isRemoved(n)) {
      for (const launch of since ?? []) computed.add(launch);
      since = [];
    } else if (since) {
      const kernel = view.facts.kernels[works.kernel[nodes.firstWork[n]!]!];
      const fits =
        nodes.workCount[n] === 1 &&
        COMPUTES_VALUES.includes(kernel!.class) &&
        !has(nodes.roles[n]!, Role.backward | Role.optimizer | Role.data) &&
        nodes.step[n] === nodes.step[n - 1];
      if (fits && since.length < MOST_FOR_A_VALUE) since.push(n);
      else since = null;
    }
  }
  return computed;
}
