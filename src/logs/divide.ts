import { type TimeByClass, totals } from '../facts/time-class.js';
import { type Amounts, total } from './amounts.js';
import type { Layout } from './layout.js';
import { WAIT_ROLES } from './phases.js';

/** Where computing is read from: the model's phases or the whole step, on the device's clock if it has either. */
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

/** Collectives fit beside the model's phases if they overrun what is left by no more than the error of the marks. */
const TOLERANCE = 1.02;

/**
 * Divides a step by how long phases took, not knowing when. `exposed` is the part of a data wait timed by the host that
 * counts; with `allHost` there is only the host's clock. The classes add up to `step`.
 */
export function divideByAmounts(
  step: number,
  amounts: Amounts,
  options: { readonly layout: Layout; readonly exposed: number; readonly allHost: boolean },
): TimeByClass {
  const { layout, exposed, allHost } = options;
  const source = computeSource(amounts);
  const waits = {
    data: { device: amounts.data.device, host: amounts.data.host * exposed },
    copy: amounts.copy,
    metrics: amounts.metrics,
  };
  const allWaits = total({ ...amounts, ...waits }, WAIT_ROLES);
  // The whole step stands for computing only as far as no wait in it was timed.
  const inside = source?.role === 'whole' && layout === 'whole' ? allWaits : 0;
  const base = source ? Math.max(0, amounts[source.role][source.clock] - inside) : 0;
  const timed = total(amounts, ['comms']);
  const room = Math.max(0, step - base - allWaits);
  // Collectives run in backward unless there is time for them beside it.
  const fits = base === 0 || timed <= TOLERANCE * room;
  const comms = fits ? timed : Math.min(timed, base + room);
  const compute = fits ? base : Math.max(0, base - comms);
  const firm = compute + comms + waits.data.device + waits.copy.device + waits.metrics.device;
  const soft = waits.data.host + waits.copy.host + waits.metrics.host;
  // Device timings are right to the last; waits the host timed are hidden behind them as far as they do not fit.
  const scale = firm > step ? step / firm : 1;
  const softScale = soft > 0 ? Math.min(1, Math.max(0, step - firm) / soft) : 0;
  const wait = (w: { device: number; host: number }) => w.device * scale + w.host * softScale;
  const classes = {
    ...{ compute: compute * scale, comms_transfer: comms * scale, copy: wait(waits.copy) },
    ...{ idle_data: wait(waits.data), idle_sync: wait(waits.metrics) },
  };
  const left = Math.max(0, step - Object.values(classes).reduce((a, b) => a + b, 0));
  const idleHost = Math.min(left, hostCover(amounts, source, allHost));
  return totals((c) => {
    if (c === 'idle_host') return idleHost;
    if (c === 'idle_other') return left - idleHost;
    return c in classes ? classes[c as keyof typeof classes] : 0;
  });
}

/** What the host's clock saw of the step apart from waits and from what already counts as computing. */
function hostCover(amounts: Amounts, source: ComputeSource | null, allHost: boolean): number {
  const clock = allHost ? 'device' : 'host';
  const roles = ['compute', 'whole', 'own'] as const;
  const isComputing = (role: string) => source?.role === role && source.clock === clock;
  return roles.reduce((ns, role) => ns + (isComputing(role) ? 0 : amounts[role][clock]), 0);
}
