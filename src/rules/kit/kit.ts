import { ns } from '../../base/units.js';
import type { RankView, TraceView } from '../../diagnosis/ranks/rank-view.js';
import { WorkSort } from '../../facts/work-sort.js';
import { copyPlan, type Plan } from '../../replay/plan.js';
import { replay } from '../../replay/replay.js';
import type { KernelTotal } from '../../traces/detail/kernel-table.js';
import type { TraceFacts } from '../../traces/trace-facts.js';
import type { Evidence } from './finding.js';
import type { Edit, Level, Price, Silent } from './rule.js';

/** What rules share: prices, evidence, sums over kernels. */

export const silent = (reason: string): Silent => ({ silent: reason });

/** A gain below this is within the noise of real runs: it is not promised. */
export const LEAST_GAIN = 1.03;

/** A step of nothing is a fault of the recording, not a gain. */
const MOST_GAIN = 1000;

/**
 * Plays the step with the fix applied: as likely, and with its uncertain parts and the cost of the profiler at both ends.
 * Null when the plan does not reproduce the step: then nothing is priced.
 */
export function priceOf(view: RankView, edit: Edit, floor: (level: Level) => number = () => 0): Price | null {
  const baseline = view.source === 'trace' ? view.baseline : null;
  if (!baseline?.faithful || !(baseline.corrected > 0)) return null;
  const after = (level: Level, cost: Level) => {
    const plan = copyPlan(baseline.plan);
    edit(plan, level);
    return Math.max(
      replay(plan, baseline.recording[cost]).step,
      floor(level),
      baseline.corrected / MOST_GAIN,
    );
  };
  const likely = baseline.corrected / after('likely', 'likely');
  // No gain: nobody asks how uncertain it is.
  if (likely < LEAST_GAIN)
    return {
      speedup: { low: likely, likely, high: likely },
      after: ns(view.step / likely),
      edit,
      floor: ns(0),
    };
  const all = [
    likely,
    baseline.corrected / after('low', 'likely'),
    baseline.corrected / after('high', 'likely'),
    baseline.correctedHigh / after('likely', 'low'),
    baseline.correctedLow / after('likely', 'high'),
  ];
  const speedup = { low: Math.min(...all), likely, high: Math.max(...all) };
  return { speedup, after: ns(view.step / likely), edit, floor: ns(floor('likely')) };
}

export const worthwhile = (price: Price | null): price is Price =>
  price !== null && price.speedup.likely >= LEAST_GAIN;

const MS = 1e6;

export function evidence(
  view: RankView,
  text: string,
  value: number | null = null,
  unit: string | null = null,
): Evidence {
  return { text, value, unit, rank: view.rank, step: null, ts_ns: null, dur_ns: null };
}

/** Evidence with a place in the trace. */
export function at(base: Evidence, ts: number, dur: number, step: number | null = null): Evidence {
  return { ...base, ts_ns: ns(Math.round(ts)), dur_ns: ns(Math.round(dur)), step };
}

/** `1 step`, `2 steps`. */
export const count = (n: number, what: string) => `${n} ${what}${n === 1 ? '' : 's'}`;

export const ms = (ns: number): string => {
  const value = ns / MS;
  return `${value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2)} ms`;
};
export const percent = (share: number): string => `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`;
export const inMs = (ns: number): number => Math.round(ns / 1e3) / 1e3;

/** GPU time a step of kernels that pass, in ns. */
export function kernelTime(view: TraceView, test: (kernel: KernelTotal) => boolean): number {
  const steps = view.facts.detail?.steps ?? 1;
  return view.facts.kernels.reduce((ns, k) => ns + (test(k) ? k.total : 0), 0) / steps;
}

/** The kernel that takes most time among those that pass. */
export function topKernel(view: TraceView, test: (kernel: KernelTotal) => boolean): KernelTotal | undefined {
  return view.facts.kernels.find(test);
}

/** GPU time and launches a step of work that passes, by what it is and who called it. */
export function workTime(
  view: TraceView,
  test: (kernel: KernelTotal, roles: number) => boolean,
): { ns: number; count: number } {
  const plan = view.facts.detail?.plan;
  if (!plan) return { ns: 0, count: 0 };
  let ns = 0;
  let count = 0;
  for (const group of groupsOf(view.facts, plan)) {
    if (!test(group.kernel, group.roles)) continue;
    ns += group.ns;
    count += group.count;
  }
  return { ns: ns / plan.steps.length, count: count / plan.steps.length };
}

/** Work of one kernel with the same roles. Rules ask dozens of questions about a few hundred such groups. */
interface WorkGroup {
  readonly kernel: KernelTotal;
  readonly roles: number;
  ns: number;
  count: number;
}
const groups = new WeakMap<Plan, readonly WorkGroup[]>();

function groupsOf(facts: TraceFacts, plan: Plan): readonly WorkGroup[] {
  const known = groups.get(plan);
  if (known) return known;
  const { works } = plan;
  const byKey = new Map<number, WorkGroup>();
  for (let w = 0; w < works.length; w++) {
    const roles = works.roles[w]!;
    const key = works.kernel[w]! * ROLE_RANGE + roles;
    let group = byKey.get(key);
    if (!group) {
      group = { kernel: facts.kernels[works.kernel[w]!]!, roles, ns: 0, count: 0 };
      byKey.set(key, group);
    }
    group.ns += works.duration[w]!;
    group.count++;
  }
  const list = [...byKey.values()];
  groups.set(plan, list);
  return list;
}
/** Roles are bits below this. */
const ROLE_RANGE = 2 ** 20;

/** Matrix products, convolutions and attention: what tensor cores are for. */
export const isMatrixWork = (k: KernelTotal) =>
  (k.class === 'gemm' || k.class === 'conv') && k.tensorCore !== null;

/** A call that copies to the host and nothing else. */
export function copiesToHost({ nodes, works }: Plan, n: number): boolean {
  return nodes.workCount[n] === 1 && works.sort[nodes.firstWork[n]!] === WorkSort.toHost;
}

/** Share of the step that the GPU is idle for launches. Pauses are W4's: no launch would have filled them. */
export function idleForLaunches({ facts, time, step }: TraceView): number {
  const pauses = facts.detail ? facts.detail.silences.total / facts.detail.steps : 0;
  return Math.max(0, time.idle_host - pauses) / step;
}
