import { median } from '../../base/statistics.js';
import { type Ns, ns } from '../../base/units.js';
import type { TraceView } from '../../diagnosis/ranks/rank-view.js';
import type { Plan } from '../../replay/plan.js';
import type { KernelTotal } from '../../traces/detail/kernel-table.js';
import { ROLE_RANGE } from '../../traces/detail/roles.js';
import type { TraceFacts } from '../../traces/trace-facts.js';

/** GPU work: sums over kernels and copies, and edits of them. */

/** By what it is, and by what called it (`Role`). */
export type WorkTest = (kernel: KernelTotal, roles: number) => boolean;

/** Whether one of these roles is set: `has(roles, Role.backward)`. */
export const has = (roles: number, wanted: number): boolean => (roles & wanted) !== 0;

/** GPU time a step of kernels that pass. */
export function kernelTime(view: TraceView, test: (kernel: KernelTotal) => boolean): Ns {
  const steps = view.facts.detail?.steps ?? 1;
  return ns(view.facts.kernels.reduce((sum, k) => sum + (test(k) ? k.total : 0), 0) / steps);
}

/** The kernel that takes most time among those that pass. */
export function topKernel(view: TraceView, test: (kernel: KernelTotal) => boolean): KernelTotal | undefined {
  return view.facts.kernels.find(test);
}

/** The median duration of work; null without a plan. */
export function medianKernel(view: TraceView): Ns | null {
  const plan = view.facts.detail?.plan;
  return plan ? ns(median(plan.works.duration)) : null;
}

export interface WorkTime {
  /** A step. */
  readonly ns: Ns;
  /** Launches per step. */
  readonly count: number;
}

/** GPU time and launches per step of work that passes. */
export function workTime(view: TraceView, test: WorkTest): WorkTime {
  const plan = view.facts.detail?.plan;
  if (!plan) return { ns: ns(0), count: 0 };
  const { answers, groupOf } = askOnce(view.facts, plan, (kernel, roles) => Number(test(kernel, roles)));
  const all = totalsOf(plan, groupOf);
  const perStep = (of: Float64Array) =>
    of.reduce((sum, value, g) => (answers[g] === 1 ? sum + value : sum), 0) / plan.steps.length;
  return { ns: ns(perStep(all.ns)), count: perStep(all.count) };
}

/** One kernel launch or copy. */
export interface Piece {
  readonly kernel: KernelTotal;
  readonly roles: number;
  readonly ns: number;
  /** Of copies; 0: unknown. */
  readonly bytes: number;
}

export interface Pieces extends WorkTime {
  /** Those of all steps, in order of launch. */
  readonly list: readonly Piece[];
}

/** As `workTime`, but each piece passes by itself, e.g. by its size: `piecesOf(view, ({ bytes }) => bytes > 1e6)`. */
export function piecesOf(view: TraceView, test: (piece: Piece) => boolean): Pieces {
  const plan = view.facts.detail?.plan;
  if (!plan) return { list: [], ns: ns(0), count: 0 };
  const all = Array.from({ length: plan.works.length }, (_, w) => pieceOf(view.facts, plan, w));
  const list = all.filter(test);
  const total = list.reduce((sum, p) => sum + p.ns, 0);
  return { list, ns: ns(total / plan.steps.length), count: list.length / plan.steps.length };
}

/** Removes a piece of work: `editWork(view, plan, isTranspose, () => REMOVED)`. */
export const REMOVED = -1;

/** Gives work that passes a new duration in ns, e.g. from its size. Work that an earlier edit removed stays removed. */
export function editWork(
  view: TraceView,
  plan: Plan,
  test: WorkTest,
  newDuration: (piece: Piece) => number,
): void {
  const { works } = plan;
  const { groupOf, answers } = askOnce(view.facts, plan, (kernel, roles) => Number(test(kernel, roles)));
  for (let w = 0; w < works.length; w++) {
    if (works.duration[w]! < 0 || answers[groupOf[w]!] === 0) continue;
    works.duration[w] = newDuration(pieceOf(view.facts, plan, w));
  }
}

/** Work of one kernel with the same roles. Rules ask dozens of questions about a few hundred such groups. */
interface WorkGroup {
  readonly kernel: KernelTotal;
  readonly roles: number;
}
interface WorkGroups {
  /** For each piece of work, the index of its group. */
  readonly groupOf: Uint32Array;
  readonly list: readonly WorkGroup[];
}
/** By the column of kernels, which copies of a plan share. */
const groups = new WeakMap<Uint32Array, WorkGroups>();

function groupsOf({ kernels }: TraceFacts, { works: { kernel, roles, length } }: Plan): WorkGroups {
  const known = groups.get(kernel);
  if (known) return known;
  const groupOf = new Uint32Array(length);
  const indices = new Map<number, number>();
  const list: WorkGroup[] = [];
  for (let w = 0; w < length; w++) {
    const key = kernel[w]! * ROLE_RANGE + roles[w]!;
    let index = indices.get(key);
    if (index === undefined) {
      index = list.length;
      indices.set(key, index);
      list.push({ kernel: kernels[kernel[w]!]!, roles: roles[w]! });
    }
    groupOf[w] = index;
  }
  const made = { groupOf, list };
  groups.set(kernel, made);
  return made;
}

interface GroupTotals {
  readonly ns: Float64Array;
  readonly count: Float64Array;
}
/** Of plans as recorded. Edits are made to copies. */
const totals = new WeakMap<Plan, GroupTotals>();

function totalsOf(plan: Plan, groupOf: Uint32Array): GroupTotals {
  const known = totals.get(plan);
  if (known) return known;
  const size = groupOf.reduce((most, g) => Math.max(most, g + 1), 0);
  const made = { ns: new Float64Array(size), count: new Float64Array(size) };
  for (let w = 0; w < groupOf.length; w++) {
    made.ns[groupOf[w]!]! += plan.works.duration[w]!;
    made.count[groupOf[w]!]!++;
  }
  totals.set(plan, made);
  return made;
}

/** Answers a question about work: it is asked once for each group, not for each of thousands of pieces. */
export function askOnce(
  facts: TraceFacts,
  plan: Plan,
  question: (kernel: KernelTotal, roles: number) => number,
): { readonly groupOf: Uint32Array; readonly answers: Float64Array } {
  const { groupOf, list } = groupsOf(facts, plan);
  return { groupOf, answers: Float64Array.from(list, ({ kernel, roles }) => question(kernel, roles)) };
}

function pieceOf({ kernels }: TraceFacts, { works }: Plan, w: number): Piece {
  return {
    kernel: kernels[works.kernel[w]!]!,
    roles: works.roles[w]!,
    ns: works.duration[w]!,
    bytes: works.bytes[w]!,
  };
}

/** Matrix products and convolutions: what tensor cores are for. */
export const isMatrixWork = (k: KernelTotal): boolean =>
  (k.class === 'gemm' || k.class === 'conv') && k.tensorCore !== null;

export const isCopyToDevice = (k: KernelTotal): boolean => k.copy?.direction === 'HtoD';
export const isCopyToHost = (k: KernelTotal): boolean => k.copy?.direction === 'DtoH';
