import { indexInSorted } from '../../base/search.js';
import { bytesOfType } from '../../facts/collective-names.js';
import type { Precision } from '../../facts/device-rates.js';
import type { Trace } from '../../model/trace.js';
import type { KernelKind, KernelKinds, WorkClass } from '../kernels/kernel-kind.js';
import type { GpuWork } from '../timeline/gpu-work.js';
import type { HostTree } from './host-tree.js';
import { OperatorCall } from './operator-call.js';
import { hasFormula, type OperatorWork, operatorWork } from './operator-work.js';

/** All calls of one operator with the same shapes. Sums over the detail window. */
export interface ShapedWork {
  readonly operator: string;
  /** `8944×1024 · 1024×4096`. */
  readonly shapes: string;
  /** The kernel that takes most of it, and what that is. */
  readonly kernel: string;
  readonly class: WorkClass;
  readonly precision: Precision;
  readonly calls: number;
  /** ns of its kernels. */
  readonly total: number;
  readonly flops: number;
  readonly bytes: number;
}

/** What the device did, as far as shapes were recorded. Sums over the detail window. */
export interface HardwareUse {
  /** Most time first. */
  readonly works: readonly ShapedWork[];
  /** ns of all kernels but communication, of those whose shapes are not known as well. */
  readonly total: number;
}

/** What is left out counts as work without shapes. */
const KEPT = 256;

interface Group extends OperatorWork {
  readonly operator: string;
  readonly shapes: string;
  readonly calls: Set<number>;
  readonly kernels: Map<number, number>;
  total: number;
}

export interface HardwareInput {
  readonly trace: Trace;
  readonly work: GpuWork;
  readonly kinds: KernelKinds;
  readonly tree: HostTree;
  readonly stepOf: Int32Array;
  readonly lastStep: number;
}

/** Null: no shapes were recorded, or no kernel belongs to an operator that has them. */
export function hardwareUse({
  trace,
  work,
  kinds,
  tree,
  stepOf,
  lastStep,
}: HardwareInput): HardwareUse | null {
  const { data } = trace;
  if (data.shapes.row.length === 0 || tree.length === 0) return null;
  const groups = new ShapeGroups(trace, tree);
  let total = 0;
  for (let i = 0; i < work.length; i++) {
    if (stepOf[i]! < 0 || stepOf[i]! >= lastStep) continue;
    const name = data.name[work.row[i]!]!;
    const kind = kinds[name];
    if (!kind || !usesDevice(kind)) continue;
    const duration = work.end[i]! - work.start[i]!;
    total += duration;
    const call = groups.callOf(work.launchRow[i]!);
    const group = call < 0 ? null : groups.of(call, kind);
    if (!group) continue;
    group.total += duration;
    group.calls.add(call);
    group.kernels.set(name, (group.kernels.get(name) ?? 0) + duration);
  }
  const works = groups.list.flatMap((group) => shapedWork(group, trace, kinds));
  return works.length > 0 ? { works: works.sort((a, b) => b.total - a.total).slice(0, KEPT), total } : null;
}

const usesDevice = ({ class: of, copy }: KernelKind): boolean =>
  of !== 'comms' && of !== 'wait' && (copy === null || copy.direction === 'DtoD');

/** What an operator calls to do its own work. */
const PART_OF_CALLER = /convolution|attention/;

/** Bytes of an element by the number format that a kernel's name states; 0: unknown. */
const SIZES: Readonly<Partial<Record<Precision, number>>> = { fp64: 8, fp32: 4, tf32: 4, fp16: 2, bf16: 2 };

/** What the name of an operator says about whose work its kernels are. */
const [OWN, ANY, CALLERS] = [0, 1, 2];

const NOT_LOOKED_UP = -2;

/** Calls by operator and shapes. It is asked about every kernel: keys are numbers, and names are tested once. */
class ShapeGroups {
  readonly list: Group[] = [];
  readonly #trace: Trace;
  readonly #tree: HostTree;
  readonly #ownerOf: (name: number) => number;
  readonly #pairs = new Map<number, number>();
  /** By call. */
  readonly #shapes: Int32Array;
  readonly #known = new Map<WorkClass | '', Map<number, Group | null>>();

  constructor(trace: Trace, tree: HostTree) {
    this.#trace = trace;
    this.#tree = tree;
    this.#shapes = new Int32Array(tree.length).fill(NOT_LOOKED_UP);
    this.#ownerOf = trace.strings.memo((name) =>
      hasFormula(name) ? OWN : PART_OF_CALLER.test(name) ? CALLERS : ANY,
    );
  }

  /** The innermost operator with shapes that asked for this launch; −1: none. */
  callOf(launchRow: number): number {
    const { data } = this.#trace;
    const { row, parent } = this.#tree;
    let call = launchRow < 0 ? -1 : this.#tree.indexOf(launchRow);
    for (; call >= 0; call = parent[call]!) {
      const isCallers = this.#ownerOf(data.name[row[call]!]!) === CALLERS;
      if (!isCallers && this.#shapesOf(call) >= 0) break;
    }
    return call;
  }

  /** Null: what its operator does is not known. */
  of(call: number, kind: KernelKind): Group | null {
    const { data } = this.#trace;
    const name = data.name[this.#tree.row[call]!]!;
    const at = this.#shapesOf(call);
    const { dims, types, values } = data.shapes;
    const ofClass = this.#ownerOf(name) === OWN ? '' : kind.class;
    const groups = this.#known.get(ofClass) ?? new Map<number, Group | null>();
    this.#known.set(ofClass, groups);
    const key = this.#pair(this.#pair(name, dims[at]!), this.#pair(types[at]!, values[at]!));
    const known = groups.get(key);
    if (known !== undefined) return known;
    const group = this.#make(name, at, kind);
    groups.set(key, group);
    if (group) this.list.push(group);
    return group;
  }

  /** Where the shapes of a call are; −1: none were recorded. */
  #shapesOf(call: number): number {
    const known = this.#shapes[call]!;
    if (known !== NOT_LOOKED_UP) return known;
    const at = indexInSorted(this.#trace.data.shapes.row, this.#tree.row[call]!);
    this.#shapes[call] = at;
    return at;
  }

  /** The same number for the same two numbers below 2 ** 26. */
  #pair(a: number, b: number): number {
    const key = a * 2 ** 26 + b;
    const known = this.#pairs.get(key) ?? this.#pairs.size;
    if (known === this.#pairs.size) this.#pairs.set(key, known);
    return known;
  }

  #make(name: number, at: number, kind: KernelKind): Group | null {
    const { strings, data } = this.#trace;
    const { dims, types, values } = data.shapes;
    const operator = strings.text(name);
    const read = new OperatorCall({
      dims: strings.value(dims[at]!),
      types: strings.value(types[at]!),
      values: strings.value(values[at]!),
    });
    const does = operatorWork(operator, read, kind.class, SIZES[kind.precision] ?? 0);
    return (
      does && {
        ...does,
        operator,
        shapes: shapesText(read),
        calls: new Set<number>(),
        kernels: new Map<number, number>(),
        total: 0,
      }
    );
  }
}

/** Tensors named, and characters. */
const [MOST_TENSORS, MOST_TEXT] = [4, 120];

function shapesText(call: OperatorCall): string {
  const shapes = call.tensors.filter((t) => t.dims.length > 0).map((t) => t.dims.join('×'));
  return shapes.slice(0, MOST_TENSORS).join(' · ').slice(0, MOST_TEXT);
}

function shapedWork(group: Group, trace: Trace, kinds: KernelKinds): ShapedWork[] {
  const kernels = [...group.kernels].sort((a, b) => b[1] - a[1]);
  const [main] = kernels;
  if (!main) return [];
  const kind = kinds[main[0]]!;
  // Transposes around a convolution do not show what it multiplies in.
  const multiplies = kernels.find(([name]) => kinds[name]!.tensorCore !== null);
  const precision = group.flops === 0 ? kind.precision : multiplies && kinds[multiplies[0]]!.precision;
  return [
    {
      operator: group.operator,
      shapes: group.shapes,
      kernel: trace.strings.text(main[0]),
      class: kind.class,
      precision: precision && precision !== 'unknown' ? precision : precisionOf(group.type),
      calls: group.calls.size,
      total: group.total,
      flops: group.flops * group.calls.size,
      bytes: group.bytes * group.calls.size,
    },
  ];
}

/** By the type of the elements. Whether fp32 runs as tf32 shows only in a kernel's name. */
function precisionOf(type: string): Precision {
  if (/bfloat16/i.test(type)) return 'bf16';
  if (/half|float16/i.test(type)) return 'fp16';
  if (/float8/i.test(type)) return 'fp8';
  return bytesOfType(type) === 8 && /double|float64/i.test(type) ? 'fp64' : 'unknown';
}
