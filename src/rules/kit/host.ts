import { type Ns, ns, type Share, share } from '../../base/units.js';
import type { TraceView } from '../../diagnosis/ranks/rank-view.js';
import { WorkSort } from '../../facts/time-class.js';
import type { Plan } from '../../replay/plan.js';
import type { OperatorTotal } from '../../traces/detail/operators.js';
import { Role } from '../../traces/detail/roles.js';
import { threshold } from './rule.js';
import { has } from './work.js';

/** The host: operators and runtime calls, and edits of the calls in a plan. */

export interface HostTime {
  /** A step. */
  readonly ns: Ns;
  /** Calls per step. */
  readonly count: number;
  /** Those that passed, most time first. */
  readonly operators: readonly OperatorTotal[];
}

/** Host time and calls per step of operators and runtime calls that pass. */
export function hostTime(view: TraceView, test: (operator: OperatorTotal) => boolean): HostTime {
  const operators = operatorsOf(view).filter(test);
  const perStep = (of: 'total' | 'count') =>
    operators.reduce((sum, o) => sum + o[of], 0) / (view.facts.detail?.steps ?? 1);
  return { ns: ns(perStep('total')), count: perStep('count'), operators };
}

/** All operators and runtime calls of the detail window, by name. */
export const operatorsOf = (view: TraceView): readonly OperatorTotal[] => view.facts.detail?.operators ?? [];

const hasOperatorIn = (view: TraceView, role: number) => operatorsOf(view).some((o) => has(o.roles, role));

/** Whether code that torch.compile made runs. */
export const runsCompiled = (view: TraceView): boolean => hasOperatorIn(view, Role.compiled);
/** Whether there is a backward pass. */
export const trains = (view: TraceView): boolean => hasOperatorIn(view, Role.backward);

/** A compiled function is looked up, but no compiled code runs: the recompile limit was reached. */
export const fallsBackToEager = (view: TraceView): boolean =>
  operatorsOf(view).some((o) => /^TorchDynamo Cache Lookup/.test(o.name)) && !runsCompiled(view);

export const IDLE = threshold('idle for the host', share(0.15), 'of the step', 'XProf: kernel launch 15%');

/** Share of the step in which the GPU is idle for launches. Pauses are left out: no launch would have filled them. */
export function idleForLaunches({ facts, time, step }: TraceView): Share {
  const pauses = facts.detail ? facts.detail.pauses.total / facts.detail.steps : 0;
  return share(Math.max(0, time.idle_host - pauses) / step.unprofiled);
}

/** A call that copies to the host and does nothing else. */
export function copiesToHost({ nodes, works }: Plan, n: number): boolean {
  return nodes.workCount[n]! === 1 && works.sort[nodes.firstWork[n]!]! === WorkSort.toHost;
}

/** Host time of calls that pass, for each event recorded in it. 0: none passes. */
export function hostPerEvent({ nodes }: Plan, test: (node: number) => boolean): number {
  let [time, events] = [0, 0];
  for (let n = 0; n < nodes.length; n++) {
    if (!test(n)) continue;
    time += nodes.hostWork[n]! + nodes.call[n]!;
    events += nodes.events[n]!;
  }
  return events > 0 ? time / events : 0;
}

/** Calls that pass become one call a step: the first stays and takes `extra` ns more, the host time of the others is gone. */
export function callOncePerStep(plan: Plan, test: (node: number) => boolean, extra: number): void {
  const { nodes } = plan;
  let step = -1;
  for (let n = 0; n < nodes.length; n++) {
    if (!test(n)) continue;
    if (nodes.step[n] !== step) {
      step = nodes.step[n]!;
      nodes.hostWork[n]! += extra;
      continue;
    }
    for (const column of [nodes.hostWork, nodes.inOperator, nodes.call, nodes.events, nodes.frames])
      column[n] = 0;
    nodes.tritonLaunches[n] = 0;
  }
}
