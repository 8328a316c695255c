import { type Ns, ns, type Share, share } from '../../base/units.js';
import { type DeviceRates, type Precision, REACHED, REACHED_BANDWIDTH } from '../../facts/device-rates.js';
import type { DeviceCounters } from '../../traces/detail/device-counters.js';
import type { ShapedWork } from '../../traces/detail/hardware-use.js';
import type { TraceView } from './rank-view.js';

/** What paces a kernel at best. */
export type Bound = 'compute' | 'memory';
export const WORK_KINDS = ['products', 'convolutions', 'attention', 'streaming'] as const;
export type WorkKind = (typeof WORK_KINDS)[number];

/** Work of one kind and number format. */
export interface KindUse {
  readonly kind: WorkKind;
  /** `unknown` for streaming, which no number format paces. */
  readonly precision: Precision;
  /** A step. */
  readonly time: Ns;
  readonly flopsPerSecond: number;
  readonly bytesPerSecond: number;
  /** Of the device's peak: of arithmetic, or of bandwidth for streaming. Null: the device is not known. */
  readonly ofPeak: Share | null;
}

export interface KernelUse {
  readonly operator: string | null;
  readonly kernel: string;
  /** Empty: not recorded. */
  readonly shapes: string;
  readonly time: Ns;
  readonly calls: number;
  readonly flopsPerSecond: number | null;
  readonly bytesPerSecond: number | null;
  readonly bound: Bound | null;
  /** Of what the device can do at most for this work. */
  readonly ofLimit: Share | null;
}

/** How far a step is from what its device can do. Times per step. */
export interface Hardware {
  readonly device: string | null;
  readonly rates: DeviceRates | null;
  /** Empty: no shapes were recorded. */
  readonly kinds: readonly KindUse[];
  /** Work that is worth a look: what is furthest from its limit, in time; if most shapes are not known, what takes most time. */
  readonly kernels: readonly KernelUse[];
  /** Part of the GPU's time whose shapes are not known. It counts as it is. */
  readonly unknown: Share;
  /** The device has nothing to do because of the host. */
  readonly gaps: Ns;
  /** Null: the device's counters were not sampled. */
  readonly counters: DeviceCounters | null;
  /** Arithmetic of products, convolutions and attention against the peak, over the whole step. */
  readonly mfu: Share | null;
  /** How much faster the step could be with the same kernels: each at the device's peak; each as fast as such kernels get. */
  readonly atMost: number | null;
  readonly reachable: number | null;
}

const MOST_KERNELS = 3;
/** If less of the GPU's time has known shapes, the kernels to look at may be among the others. */
const MOSTLY_KNOWN = 0.5;
/** Shorter kernels are all launch and ramp. As in rules/kit/matrix-rates.ts. */
const SHORTEST_NS = 4_000;
/** The time of a step that something must be left of. */
const LEAST = 0.01;

/** Null: no GPU work was recorded. */
export function hardwareOf(view: TraceView): Hardware | null {
  const { facts, rates } = view;
  if (!facts.hasGpuWork) return null;
  const { idle_host, idle_sync, idle_other } = view.time;
  const gaps = ns(idle_host + idle_sync + idle_other);
  const device = facts.device?.name ?? null;
  const use = facts.detail?.hardware ?? null;
  const { counters } = facts;
  const steps = Math.max(1, facts.detail?.steps ?? 1);
  if (!use || use.total <= 0)
    return { ...NOTHING, device, rates, gaps, counters, kernels: longestKernels(view, steps) };
  const step = view.step.unprofiled;
  const known = sumOf(use.works, (w) => w.total);
  // Work of several streams overlaps: what it saves is not all time of the step.
  const exposed = Math.min(1, (view.time.compute * steps) / use.total);
  const faster = (limitOf: (work: ShapedWork, rates: DeviceRates) => number) => {
    if (!rates) return null;
    const saved = sumOf(use.works, (w) => Math.max(0, w.total - limitOf(w, rates)));
    return step / Math.max(LEAST * step, step - gaps - (exposed * saved) / steps);
  };
  return {
    device,
    rates,
    kinds: kindsOf(use.works, rates, steps),
    kernels:
      known < MOSTLY_KNOWN * use.total ? longestKernels(view, steps) : furthest(use.works, rates, steps),
    unknown: share(1 - Math.min(1, known / use.total)),
    gaps,
    counters,
    mfu: rates && mfuOf(use.works, rates, step * steps),
    atMost: faster(atPeak),
    reachable: faster(asReached),
  };
}

const NOTHING = { kinds: [], kernels: [], unknown: share(1), mfu: null, atMost: null, reachable: null };

const sumOf = <T>(list: readonly T[], of: (item: T) => number) =>
  list.reduce((sum, item) => sum + of(item), 0);

/** FLOP/s and bytes/s at most; 0: the data sheet does not state it. */
const peakOf = ({ precision }: ShapedWork, { tflops }: DeviceRates): number =>
  precision === 'unknown' ? 0 : 1e12 * (tflops[precision] ?? 0);
const bandwidthOf = ({ memoryGBps }: DeviceRates) => 1e9 * memoryGBps;

/** ns that arithmetic and memory take at these parts of the peaks. Work whose peak is not known stays as it is. */
function limit(work: ShapedWork, rates: DeviceRates, arithmetic: number, memory: number): number {
  const peak = peakOf(work, rates);
  if (work.flops > 0 && peak === 0) return work.total;
  const computing = work.flops > 0 ? (1e9 * work.flops) / (arithmetic * peak) : 0;
  return Math.max(computing, (1e9 * work.bytes) / (memory * bandwidthOf(rates)));
}

const atPeak = (work: ShapedWork, rates: DeviceRates) => limit(work, rates, 1, 1);

const reachedBy = (precision: Precision): number =>
  (REACHED as Readonly<Partial<Record<Precision, number>>>)[precision] ?? REACHED.bf16;

const asReached = (work: ShapedWork, rates: DeviceRates) =>
  Math.max(
    limit(work, rates, reachedBy(work.precision), REACHED_BANDWIDTH),
    Math.min(work.total, SHORTEST_NS * work.calls),
  );

function mfuOf(works: readonly ShapedWork[], rates: DeviceRates, time: number): Share | null {
  const needed = sumOf(works, (w) => {
    const peak = peakOf(w, rates);
    return peak > 0 ? (1e9 * w.flops) / peak : 0;
  });
  return needed > 0 ? share(Math.min(1, needed / time)) : null;
}

function kindOf({ operator, flops }: ShapedWork): WorkKind {
  if (flops === 0) return 'streaming';
  if (operator.includes('attn') || operator.includes('attention')) return 'attention';
  return operator.includes('convolution') ? 'convolutions' : 'products';
}

function kindsOf(works: readonly ShapedWork[], rates: DeviceRates | null, steps: number): KindUse[] {
  const byKind = new Map<string, { kind: WorkKind; precision: Precision; works: ShapedWork[] }>();
  for (const work of works) {
    const kind = kindOf(work);
    const precision = kind === 'streaming' ? 'unknown' : work.precision;
    const known = byKind.get(`${kind} ${precision}`);
    if (known) known.works.push(work);
    else byKind.set(`${kind} ${precision}`, { kind, precision, works: [work] });
  }
  return [...byKind.values()]
    .map(({ kind, precision, works: of }) => {
      const time = sumOf(of, (w) => w.total);
      const flopsPerSecond = (1e9 * sumOf(of, (w) => w.flops)) / time;
      const bytesPerSecond = (1e9 * sumOf(of, (w) => w.bytes)) / time;
      const peak = rates && (kind === 'streaming' ? bandwidthOf(rates) : peakOf(of[0]!, rates));
      const reached = kind === 'streaming' ? bytesPerSecond : flopsPerSecond;
      const ofPeak = peak ? share(reached / peak) : null;
      return { kind, precision, time: ns(time / steps), flopsPerSecond, bytesPerSecond, ofPeak };
    })
    .sort((a, b) => b.time - a.time);
}

/** The works from which most time could be won; on a device that is not known, the longest. */
function furthest(works: readonly ShapedWork[], rates: DeviceRates | null, steps: number): KernelUse[] {
  const left = (w: ShapedWork) => (rates ? w.total - asReached(w, rates) : w.total);
  return works
    .toSorted((a, b) => left(b) - left(a))
    .slice(0, MOST_KERNELS)
    .map((work) => {
      const peak = rates ? peakOf(work, rates) : 0;
      const computing = peak > 0 ? work.flops / peak : 0;
      const paced: Bound | null = !rates
        ? null
        : computing > work.bytes / bandwidthOf(rates)
          ? 'compute'
          : 'memory';
      return {
        operator: work.operator,
        kernel: work.kernel,
        shapes: work.shapes,
        time: ns(work.total / steps),
        calls: work.calls / steps,
        flopsPerSecond: work.flops > 0 ? (1e9 * work.flops) / work.total : null,
        bytesPerSecond: (1e9 * work.bytes) / work.total,
        bound: paced,
        ofLimit: rates && (work.flops === 0 || peak > 0) ? share(atPeak(work, rates) / work.total) : null,
      };
    });
}

/** Without shapes: which kernels take most of the step. */
function longestKernels({ facts }: TraceView, steps: number): KernelUse[] {
  return facts.kernels
    .filter(({ class: of, copy }) => of !== 'comms' && of !== 'wait' && copy === null)
    .slice(0, MOST_KERNELS)
    .map(({ name, count, total, grids }) => ({
      operator: null,
      kernel: name,
      shapes: grids[0]?.grid ? `grid ${grids[0].grid}` : '',
      time: ns(total / steps),
      calls: count / steps,
      flopsPerSecond: null,
      bytesPerSecond: null,
      bound: null,
      ofLimit: null,
    }));
}
