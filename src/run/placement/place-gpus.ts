import type { GpuIdentity } from '../../model/telemetry.js';
import type { GpuState } from '../../telemetry/gpu-state.js';
import { LEAST_SAMPLES } from '../../telemetry/slow-gpu.js';

/** Where a rank ran. Null: unknown. */
export interface RankLocation {
  readonly rank: number;
  readonly host: string | null;
  readonly localRank: number | null;
  readonly device: GpuIdentity | null;
}

/** The telemetry log of one host. */
export interface TelemetryLog {
  readonly path: string;
  /** From its name. */
  readonly host: string | null;
  readonly gpus: readonly GpuState[];
}

interface PlacedGpus {
  /** By rank; ranks whose GPU is unknown are missing. */
  readonly gpus: ReadonlyMap<number, GpuState>;
  /** Paths of logs whose host is unknown. */
  readonly unplaced: readonly string[];
}

/** Which GPU of the telemetry belongs to which rank. */
export function placeGpus(ranks: readonly RankLocation[], logs: readonly TelemetryLog[]): PlacedGpus {
  const hosts = new Set(ranks.map((r) => hostKey(r.host)));
  const gpus = new Map<number, GpuState>();
  const unplaced: string[] = [];
  for (const log of logs) {
    // With one host its name does not matter. Otherwise the file or one of its folders is named after the host.
    const host = hosts.size === 1 ? [...hosts][0]! : namesOf(log).find((name) => hosts.has(name));
    if (host === undefined) {
      unplaced.push(log.path);
      continue;
    }
    const onHost = ranks.filter((r) => hostKey(r.host) === host);
    matchGpus(onHost, log.gpus).forEach((gpu, i) => {
      const { rank } = onHost[i]!;
      const known = gpus.get(rank);
      if (gpu && (!known || isBetter(gpu, known))) gpus.set(rank, gpu);
    });
  }
  return { gpus, unplaced };
}

/** A restarted run leaves one log per start: the last one that saw the GPU work counts. */
function isBetter(gpu: GpuState, known: GpuState): boolean {
  if (gpu.untilNs === null || known.untilNs === null || gpu.untilNs === known.untilNs)
    return gpu.busySamples > known.busySamples;
  const isLater = gpu.untilNs > known.untilNs;
  return isLater === (isLater ? gpu : known).busySamples >= LEAST_SAMPLES;
}

const namesOf = ({ host, path }: TelemetryLog) =>
  [host, ...path.split(/[/\\!]/)].map(hostKey).filter((name) => name !== '');

/** `Node-3.cluster.local` and `node-3` are one host. IP addresses have no short form. */
export function hostKey(host: string | null): string {
  const name = (host ?? '').toLowerCase();
  return /^[\d.]+$|:/.test(name) ? name : name.split('.')[0]!;
}

/**
 * The GPU of each rank of one host; null if unknown. Device numbers alone are not enough: nvidia-smi counts GPUs
 * by their address on the bus, a process counts those it may see, so each of eight ranks may call its own GPU 0.
 */
function matchGpus(ranks: readonly RankLocation[], gpus: readonly GpuState[]): (GpuState | null)[] {
  const byId = ranks.map((r) => gpus.find((g) => isSame(r.device, g)) ?? null);
  if (byId.some((g) => g !== null)) return byId;
  if (gpus.length === 1) return ranks.map(() => gpus[0]!);
  const buses = new Set(ranks.flatMap((r) => r.device?.pci ?? []));
  if (buses.size === gpus.length && ranks.every((r) => r.device?.pci)) {
    const byIndex = gpus.toSorted((a, b) => (a.index ?? 0) - (b.index ?? 0));
    const sorted = [...buses].sort((a, b) => busNumber(a) - busNumber(b));
    return ranks.map((r) => byIndex[sorted.indexOf(r.device!.pci!)]!);
  }
  const busy = gpus.filter((g) => g.busySamples > 0);
  if (ranks.length === 1 && busy.length === 1) return busy;
  const numbers = [ranks.map((r) => r.device?.index ?? null), ranks.map((r) => r.localRank)].find(
    areDistinct,
  );
  return ranks.map((_, i) => (numbers && gpus.find((g) => g.index === numbers[i])) ?? null);
}

function isSame(device: GpuIdentity | null, gpu: GpuState): boolean {
  if (device?.uuid && gpu.uuid) return device.uuid === gpu.uuid;
  return device?.pci != null && device.pci === gpu.pci;
}

const areDistinct = (values: readonly (number | null)[]) =>
  !values.includes(null) && new Set(values).size === values.length;

/** Orders `0:1a:0` by domain, bus and device. */
function busNumber(key: string): number {
  return key.split(':').reduce((n, part) => n * 256 + Number.parseInt(part, 16), 0);
}
