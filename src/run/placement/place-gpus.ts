import type { GpuIdentity } from '../../model/gpu-identity.js';
import type { GpuState } from '../../telemetry/gpu-state.js';
import { LEAST_SAMPLES } from '../../telemetry/slow-gpu.js';

/** Where a rank ran, as far as it is known. */
export interface RankPlace {
  readonly rank: number;
  readonly host: string | null;
  readonly localRank: number | null;
  readonly device: GpuIdentity | null;
}

/** A telemetry log of one machine. */
export interface TelemetryLog {
  readonly path: string;
  /** From its name; null where that says nothing. */
  readonly host: string | null;
  readonly gpus: readonly GpuState[];
}

export interface PlacedGpus {
  /** By rank. */
  readonly gpus: ReadonlyMap<number, GpuState>;
  /** Logs of which nothing says whose machine they are of. */
  readonly unplaced: readonly string[];
}

/** Which GPU of the telemetry is whose. Ranks of which nothing tells are left out. */
export function placeGpus(ranks: readonly RankPlace[], logs: readonly TelemetryLog[]): PlacedGpus {
  const hosts = new Set(ranks.map((r) => hostKey(r.host)));
  const gpus = new Map<number, GpuState>();
  const unplaced: string[] = [];
  for (const log of logs) {
    // With one machine it does not matter what its name is. Else the file is named by it, or lies in a folder that is.
    const host = hosts.size === 1 ? [...hosts][0]! : (namesOf(log).find((name) => hosts.has(name)) ?? null);
    if (host === null) {
      unplaced.push(log.path);
      continue;
    }
    for (const [rank, gpu] of matchGpus(
      ranks.filter((r) => hostKey(r.host) === host),
      log.gpus,
    )) {
      const known = gpus.get(rank);
      if (!known || saysMore(gpu, known)) gpus.set(rank, gpu);
    }
  }
  return { gpus, unplaced };
}

/** A run that was started again leaves a log for each time: the last one that saw work counts. */
function saysMore(gpu: GpuState, known: GpuState): boolean {
  const later = (gpu.untilNs ?? 0) - (known.untilNs ?? 0);
  if (gpu.untilNs === null || known.untilNs === null || later === 0)
    return gpu.busySamples > known.busySamples;
  const [last, before] = later > 0 ? [gpu, known] : [known, gpu];
  return (last.busySamples >= LEAST_SAMPLES ? last : before) === gpu;
}

const namesOf = ({ host, path }: TelemetryLog) =>
  [host, ...path.split(/[/\\!]/)].map(hostKey).filter((name) => name !== '');

/** `Node-3.cluster.local` and `node-3` are one machine; addresses have no short form. */
export function hostKey(host: string | null): string {
  const name = (host ?? '').toLowerCase();
  return /^[\d.]+$|:/.test(name) ? name : name.split('.')[0]!;
}

/**
 * GPUs of one machine to its ranks. nvidia-smi counts by place on the bus; a process counts what it may see, so that
 * each of eight may call its own 0.
 */
function matchGpus(ranks: readonly RankPlace[], gpus: readonly GpuState[]): [number, GpuState][] {
  const found = ranks.map((r) => gpus.find((g) => isSame(r.device, g)) ?? null);
  if (found.some((g) => g !== null)) return pairs(ranks, found);
  if (gpus.length === 1) return pairs(ranks, fill(ranks, gpus[0]!));
  const byIndex = gpus.toSorted((a, b) => (a.index ?? 0) - (b.index ?? 0));
  const buses = [...new Set(ranks.map((r) => r.device?.pci ?? null))];
  if (buses.length === gpus.length && !buses.includes(null)) {
    const sorted = (buses as string[]).toSorted((a, b) => busNumber(a) - busNumber(b));
    return pairs(
      ranks,
      ranks.map((r) => byIndex[sorted.indexOf(r.device!.pci!)]!),
    );
  }
  const busy = gpus.filter((g) => g.busySamples > 0);
  if (ranks.length === 1 && busy.length === 1) return pairs(ranks, busy);
  const count = [(r: RankPlace) => r.device?.index ?? null, (r: RankPlace) => r.localRank].find((of) =>
    areDistinct(ranks.map(of)),
  );
  return count
    ? pairs(
        ranks,
        ranks.map((r) => gpus.find((g) => g.index === count(r)) ?? null),
      )
    : [];
}

function isSame(device: GpuIdentity | null, gpu: GpuState): boolean {
  if (device?.uuid && gpu.uuid) return device.uuid === gpu.uuid;
  return device?.pci != null && device.pci === gpu.pci;
}

function pairs(ranks: readonly RankPlace[], gpus: readonly (GpuState | null)[]): [number, GpuState][] {
  return ranks.flatMap((r, i): [number, GpuState][] => (gpus[i] ? [[r.rank, gpus[i]]] : []));
}

const fill = (ranks: readonly RankPlace[], gpu: GpuState) => ranks.map(() => gpu);

const areDistinct = (values: readonly (number | null)[]) =>
  !values.includes(null) && new Set(values).size === values.length;

/** `0:1a:0` by domain, bus, device. */
function busNumber(key: string): number {
  return key.split(':').reduce((n, part) => n * 256 + Number.parseInt(part, 16), 0);
}
