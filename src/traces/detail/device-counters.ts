import { CoverageCursor, SpanUnion } from '../../base/intervals.js';
import { largest, median } from '../../base/statistics.js';
import { type Share, share } from '../../base/units.js';
import { WorkSort } from '../../facts/time-class.js';
import type { Trace } from '../../model/trace.js';
import type { KernelKinds } from '../kernels/kernel-kind.js';
import type { GpuWork } from '../timeline/gpu-work.js';
import type { StepWindow } from '../timeline/step-window.js';
import { workSorts } from '../timeline/work-sorts.js';

/** What the device's own counters show while it computes, as shares of its peak. Null: not sampled. torch 2.15 can record them. */
export interface DeviceCounters {
  /** Of one counter. */
  readonly samples: number;
  /** Multiprocessors that have work. */
  readonly sm: Share | null;
  readonly tensor: Share | null;
  /** Bandwidth of the device's memory. */
  readonly dram: Share | null;
}

/** Names by CUPTI (`sm__cycles_active.avg.pct_of_peak_sustained_elapsed`) and as torch shows them (`SM Active (%)`). */
const PERCENT = /\(%\)$|pct_of_peak/;
const NAMES = {
  sm: /^SM Active\b|^sm__cycles_active\b/,
  tensor: /pipe_tensor\w*_cycles_active\b|^Tensor\b.*Active\b/,
  dram: /^(?:HBM|DRAM) BW\b|^(?:gpu__)?dram__?throughput\b/,
} as const;
type Kind = keyof typeof NAMES;
const KINDS = Object.keys(NAMES) as Kind[];

/** Fewer samples in the window say little. */
const ENOUGH = 10;
/** Samples that are further apart than this many intervals have a gap between them. */
const GAP = 1.5;
/** The device computes for less of the window: its activity cannot be divided by that. */
const LEAST_BUSY = 0.02;

/** Null: no counters were sampled in the window. */
export function deviceCounters(
  trace: Trace,
  work: GpuWork,
  kinds: KernelKinds,
  { from, to }: Pick<StepWindow, 'from' | 'to'>,
): DeviceCounters | null {
  const { samples } = trace.data;
  if (samples.row.length === 0) return null;
  const byKind = samplesInside(trace, from, to);
  const count = largest(KINDS.map((kind) => byKind[kind].length));
  if (count < ENOUGH) return null;
  const computing = new CoverageCursor(computingSpans(trace, work, kinds));
  const [sm = null, tensor = null, dram = null] = KINDS.map((kind) =>
    whileComputing(byKind[kind], computing),
  );
  return sm === null && tensor === null && dram === null ? null : { samples: count, sm, tensor, dram };
}

interface Sample {
  readonly ts: number;
  readonly value: number;
}

/** Of one device: a process computes on one. */
function samplesInside({ data, strings }: Trace, from: number, to: number): Record<Kind, Sample[]> {
  const { samples, ts, name, track } = data;
  const kindOf = new Map<number, Kind | null>();
  const found: Record<Kind, Sample[]> = { sm: [], tensor: [], dram: [] };
  const trackOf = new Map<Kind, string>();
  samples.row.forEach((row, i) => {
    const id = name[row]!;
    let kind = kindOf.get(id);
    if (kind === undefined) {
      const text = strings.text(id);
      kind = PERCENT.test(text) ? (KINDS.find((k) => NAMES[k].test(text)) ?? null) : null;
      kindOf.set(id, kind);
    }
    const value = samples.value[i]!;
    if (kind === null || !(ts[row]! >= from && ts[row]! < to) || !(value >= 0 && value <= 100)) return;
    // Two counters of one kind would be counted twice.
    const source = `${id} ${data.tracks[track[row]!]?.pid}`;
    if (trackOf.has(kind) && trackOf.get(kind) !== source) return;
    trackOf.set(kind, source);
    found[kind].push({ ts: ts[row]!, value });
  });
  for (const kind of KINDS) found[kind].sort((a, b) => a.ts - b.ts);
  return found;
}

function computingSpans({ data }: Trace, work: GpuWork, kinds: KernelKinds) {
  const sorts = workSorts(kinds);
  const spans = new SpanUnion();
  for (let i = 0; i < work.length; i++)
    if (sorts[data.name[work.row[i]!]!] === WorkSort.compute) spans.add(work.start[i]!, work.end[i]!);
  return spans.finish();
}

/** Nothing is active while the device idles, so what was active belongs to the time in which it computed. */
function whileComputing(samples: readonly Sample[], computing: CoverageCursor): Share | null {
  if (samples.length < ENOUGH) return null;
  const usual = median(samples.slice(1).map(({ ts }, i) => ts - samples[i]!.ts));
  let [active, busy, all] = [0, 0, 0];
  for (let i = 0; i + 1 < samples.length; i++) {
    const { ts, value } = samples[i]!;
    const next = samples[i + 1]!.ts;
    if (next - ts > GAP * usual) continue;
    active += (value / 100) * (next - ts);
    busy += computing.covered(ts, next);
    all += next - ts;
  }
  return busy < LEAST_BUSY * all || all === 0 ? null : share(Math.min(1, active / busy));
}
