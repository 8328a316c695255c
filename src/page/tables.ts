import type { Diagnosis } from '../answers/diagnosis.js';
import { groupBy } from '../base/group-by.js';
import { largest, median } from '../base/statistics.js';
import type { RankView } from '../diagnosis/ranks/rank-view.js';
import { COLLECTIVE_KINDS, type RankCollectives } from '../facts/rank-collectives.js';
import type { CollectiveRow, GpuRow, KernelRow, OperatorRow } from './page-data.js';

/** The others are rare and short. */
const MAX_ROWS = 250;
/** Names of C++ templates reach 100 KB; what they are stands at the front. */
const MAX_NAME = 400;

const shortened = (name: string) => (name.length > MAX_NAME ? `${name.slice(0, MAX_NAME)}…` : name);

/** Kernels and copies of the steps that were analyzed in full, most time first. */
export function kernelsOf(view: RankView | null): KernelRow[] {
  if (view?.source !== 'trace') return [];
  const steps = view.facts.detail?.steps || 1;
  return view.facts.kernels.slice(0, MAX_ROWS).map((k) => ({
    name: shortened(k.name),
    group: k.class,
    precision: k.precision,
    count: k.count / steps,
    ms: k.total / steps / 1e6,
    longestTs: k.longestTs,
    longestNs: k.longest,
  }));
}

export function operatorsOf(view: RankView | null): OperatorRow[] {
  const detail = view?.source === 'trace' ? view.facts.detail : null;
  if (!detail) return [];
  const perStep = (total: number) => total / (detail.steps || 1);
  return detail.operators
    .filter((o) => !o.name.startsWith('ProfilerStep#'))
    .toSorted((a, b) => b.self - a.self)
    .slice(0, MAX_ROWS)
    .map((o) => ({
      name: shortened(o.name),
      count: perStep(o.count),
      selfMs: perStep(o.self) / 1e6,
      ms: perStep(o.total) / 1e6,
    }));
}

/** By group, kind and size. Without a second rank, waiting cannot be separated from transfer. */
export function collectivesOf({ comparison, decisive }: Diagnosis): CollectiveRow[] {
  const compared = comparison?.traced ?? comparison;
  if (!compared) return decisive?.facts.collectives ? ofOneRank(decisive.facts.collectives) : [];
  return compared.bandwidth.slice(0, MAX_ROWS).map((b) => ({
    group: shortened(compared.matched.groups[b.group]!.name),
    kind: b.kind,
    fromBytes: b.fromBytes,
    instances: b.instances,
    ms: b.transferMedian / 1e6,
    withoutWaiting: true,
    gbPerSecond: b.gbPerSecond,
  }));
}

/** Sizes within a factor of four are counted together, as for several ranks. */
const sizeOf = (bytes: number) => (bytes > 0 ? 4 ** Math.floor(Math.log(bytes) / Math.log(4) + 1e-9) : null);

function ofOneRank({ length, group, kind, bytes, start, end, groups }: RankCollectives): CollectiveRow[] {
  const all = Array.from({ length }, (_, i) => i);
  const alike = groupBy(all, (i) => `${group[i]} ${kind[i]} ${sizeOf(bytes[i]!)}`);
  const timeOf = (list: readonly number[]) => list.map((i) => end[i]! - start[i]!);
  return [...alike.values()]
    .map((list) => ({
      group: shortened(groups[group[list[0]!]!]!.name),
      kind: COLLECTIVE_KINDS[kind[list[0]!]!]!,
      fromBytes: sizeOf(bytes[list[0]!]!),
      instances: list.length,
      ms: median(timeOf(list)) / 1e6,
      withoutWaiting: false,
      gbPerSecond: null,
    }))
    .sort((a, b) => b.ms * b.instances - a.ms * a.instances)
    .slice(0, MAX_ROWS);
}

/** GPUs that are drawn over time. */
const MAX_SERIES = 64;

export function gpusOf({ locations, inputs }: Diagnosis): GpuRow[] {
  const seriesOf = new Map(
    inputs.beside.flatMap(({ evidence: { gpus = [], series } }) =>
      series ? gpus.map((gpu, i) => [gpu, series[i]!] as const) : [],
    ),
  );
  return [...locations.gpus]
    .sort(([a], [b]) => a - b)
    .slice(0, MAX_ROWS)
    .map(([rank, gpu], i) => ({
      rank,
      name: gpu.name ?? null,
      samples: gpu.samples,
      utilization: gpu.utilization,
      clock: gpu.clock,
      maxClock: gpu.maxClock,
      power: gpu.power,
      powerLimit: gpu.powerLimit,
      temperature: gpu.temperature,
      series: i < MAX_SERIES ? (seriesOf.get(gpu) ?? null) : null,
      limited:
        gpu.thermal === null && gpu.powerCap === null ? null : largest([gpu.thermal ?? 0, gpu.powerCap ?? 0]),
    }));
}
