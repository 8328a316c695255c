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
  /** Launches a step. */
  readonly count: number;
}

/** GPU time and launches per step of work that passes. */
export function workTime(view: TraceView, test: WorkTest): WorkTime {
  const plan = view.facts.detail?.plan;
  if (!plan) return { ns: ns(0), count: 0 };
  const passing = groupsOf(view.facts, plan).filter((g) => test(g.kernel, g.roles));
  const perStep = (of: 'ns' | 'count') => passing.reduce((sum, g) => sum + g[of], 0) / plan.steps.length;
  return { ns: ns(perStep('ns')), count: perStep('count') };
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
  const { sortOf, answers } = askOnce(view.facts, plan, (kernel, roles) => Number(test(kernel, roles)));
  for (let w = 0; w < works.length; w++) {
    if (works.duration[w]! < 0 || answers[sortOf[w]!] === 0) continue;
    works.duration[w] = newDuration(pieceOf(view.facts, plan, w));
  }
}

/** Works of one kernel with the same roles are of one sort. */
interface WorkSorts {
  /** For each piece of work, the index of its sort. */
  readonly sortOf: Uint32Array;
  readonly list: readonly { readonly kernel: KernelTotal; readonly roles: number }[];
}
/** By the column of kernels, which copies of a plan share. */
const sorts = new WeakMap<Uint32Array, WorkSorts>();

/** What a question about work gets for an answer: it is asked once for each sort, not for each of thousands of pieces. */
export function askOnce(
  facts: TraceFacts,
  { works }: Plan,
  question: (kernel: KernelTotal, roles: number) => number,
): { readonly sortOf: Uint32Array; readonly answers: Float64Array } {
  const known = sorts.get(works.kernel) ?? sortWorks(facts, works);
  sorts.set(works.kernel, known);
  return {
    sortOf: known.sortOf,
    answers: Float64Array.from(known.list, ({ kernel, roles }) => question(kernel, roles)),
  };
}

function sortWorks({ kernels }: TraceFacts, { kernel, roles, length }: Plan['works']): WorkSorts {
  const sortOf = new Uint32Array(length);
  const indices = new Map<number, number>();
  const list: { kernel: KernelTotal; roles: number }[] = [];
  for (let w = 0; w < length; w++) {
    const key = kernel[w]! * ROLE_RANGE + roles[w]!;
    let index = indices.get(key);
    if (index === undefined) {
      index = list.length;
      indices.set(key, index);
      list.push({ kernel: kernels[kernel[w]!]!, roles: roles[w]! });
    }
    sortOf[w] = index;
  }
  return { sortOf, list };
}

function pieceOf({ kernels }: TraceFacts, { works }: Plan, w: number): Piece {
  return {
    kernel: kernels[works.kernel[w]!]!,
    roles: works.roles[w]!,
    ns: works.duration[w]!,
    bytes: works.bytes[w]!,
  };
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

/** Matrix products and convolutions: what tensor cores are for. */
export const isMatrixWork = (k: KernelTotal): boolean =>
  (k.class === 'gemm' || k.class === 'conv') && k.tensorCore !== null;

export const isCopyToDevice = (k: KernelTotal): boolean => k.copy?.direction === 'HtoD';
export const isCopyToHost = (k: KernelTotal): boolean => k.copy?.direction === 'DtoH';
