import { median } from '../base/statistics.js';
import { type TimeByClass, totals } from '../facts/time-class.js';
import type { Layout } from './layout.js';
import { WAIT_ROLES } from './phases.js';
import { type Amounts, meanAmounts, total } from './step-records.js';

/** No batch takes the device this many times the usual: the phase was open during something else. */
const FAR = 3;
/** With fewer steps there is no usual step. */
const MIN_STEPS = 5;

export interface Outliers {
  readonly steps: number;
  /** ns per step, over all steps, beyond the usual computing. */
  readonly ns: number;
}

/**
 * Steps that computed far longer than most. Compilation, a checkpoint or a garbage collection look like computing to a phase
 * that is open meanwhile. `computing`: ns of each step.
 */
export function findOutliers(computing: readonly number[]): Outliers {
  const usual = median(computing);
  if (computing.length < MIN_STEPS || usual === 0) return { steps: 0, ns: 0 };
  const far = computing.filter((ns) => ns > FAR * usual);
  return { steps: far.length, ns: far.reduce((sum, ns) => sum + ns - usual, 0) / computing.length };
}

/** ns that each step computed, from how long its phases took. */
export function computingOf(amounts: readonly Amounts[], layout: Layout): number[] {
  const source = computeSource(meanAmounts(amounts));
  if (!source) return [];
  const holdsWaits = source.role === 'whole' && layout === 'whole';
  return amounts.map((a) =>
    Math.max(0, a[source.role][source.clock] - (holdsWaits ? total(a, WAIT_ROLES) : 0)),
  );
}

/** Nothing says what outliers were, so they become unexplained time. */
export function moveOutliers(time: TimeByClass, { ns }: Outliers): TimeByClass {
  const moved = Math.min(ns, time.compute);
  return totals((c) => time[c] + (c === 'compute' ? -moved : c === 'idle_other' ? moved : 0));
}

/** What stands for computing: the model's phases or the whole step, on the device's clock if either was timed there. */
export interface ComputeSource {
  readonly role: 'compute' | 'whole';
  readonly clock: 'device' | 'host';
}

export function computeSource(amounts: Amounts): ComputeSource | null {
  for (const clock of ['device', 'host'] as const) {
    for (const role of ['compute', 'whole'] as const) if (amounts[role][clock] > 0) return { role, clock };
  }
  return null;
}

/** Collectives count as outside the model's phases if they exceed the time left by at most the error of the marks. */
const TOLERANCE = 1.02;

/**
 * Divides a step by how long its phases took, where it is not known when they ran. `exposed`: the share of a host-timed
 * wait for data that counts. `allHost`: only the host's clock was recorded. The classes add up to `step` (ns).
 */
export function divideByAmounts(
  step: number,
  amounts: Amounts,
  options: { readonly layout: Layout; readonly exposed: number; readonly allHost: boolean },
): TimeByClass {
  const { layout, exposed, allHost } = options;
  const source = computeSource(amounts);
  const data = { device: amounts.data.device, host: amounts.data.host * exposed };
  const { copy, metrics } = amounts;
  const allWaits = total({ ...amounts, data }, WAIT_ROLES);
  // The whole step stands for computing without the waits that were timed inside it.
  const waitsInside = source?.role === 'whole' && layout === 'whole' ? allWaits : 0;
  const model = source ? Math.max(0, amounts[source.role][source.clock] - waitsInside) : 0;
  const timedComms = total(amounts, ['comms']);
  const room = Math.max(0, step - model - allWaits);
  // Collectives run inside backward unless there is time for them outside.
  const isBeside = model === 0 || timedComms <= TOLERANCE * room;
  const comms = isBeside ? timedComms : Math.min(timedComms, model + room);
  const compute = isBeside ? model : Math.max(0, model - comms);
  const onDevice = compute + comms + data.device + copy.device + metrics.device;
  const hostWaits = data.host + copy.host + metrics.host;
  // Device timings are certain. Waits timed by the host count as far as they fit into the rest; what does not was hidden.
  const deviceScale = onDevice > step ? step / onDevice : 1;
  const hostScale = hostWaits > 0 ? Math.min(1, Math.max(0, step - onDevice) / hostWaits) : 0;
  const wait = (w: { device: number; host: number }) => w.device * deviceScale + w.host * hostScale;
  const classes = {
    compute: compute * deviceScale,
    comms_transfer: comms * deviceScale,
    copy: wait(copy),
    idle_data: wait(data),
    idle_sync: wait(metrics),
  };
  const left = Math.max(0, step - Object.values(classes).reduce((a, b) => a + b, 0));
  const idleHost = Math.min(left, otherHostTime(amounts, source, allHost));
  return totals((c) => {
    if (c === 'idle_host') return idleHost;
    if (c === 'idle_other') return left - idleHost;
    return c in classes ? classes[c as keyof typeof classes] : 0;
  });
}

/** ns that the host timed apart from waits and from what already counts as computing. */
function otherHostTime(amounts: Amounts, source: ComputeSource | null, allHost: boolean): number {
  const clock = allHost ? 'device' : 'host';
  const roles = ['compute', 'whole', 'own'] as const;
  return roles
    .filter((role) => !(source?.role === role && source.clock === clock))
    .reduce((ns, role) => ns + amounts[role][clock], 0);
}
