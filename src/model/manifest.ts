import type { GpuIdentity } from './gpu-identity.js';

/**
 * What capture writes down about a run beside its measurements: `run.json` and `ranks/rank_<r>.json`. Every field was
 * checked when it was read: what is missing or of the wrong type is null or left out, texts and lists are of bounded
 * length.
 */
export type Manifest = RunManifest | RankManifest;

export interface RunManifest {
  readonly of: 'run';
  readonly run: string | null;
  readonly worldSize: number | null;
  /** Axes of the device mesh, outermost first; null where there is none. */
  readonly mesh: readonly MeshAxis[] | null;
  /** Nanoseconds since 1970, to about 256 (it was a number of JSON). */
  readonly startedNs: number | null;
  readonly versions: Readonly<Record<string, string>>;
  readonly command: readonly string[];
}

export interface MeshAxis {
  readonly name: string;
  readonly size: number;
}

export interface RankManifest {
  readonly of: 'rank';
  readonly run: string | null;
  readonly rank: number | null;
  readonly localRank: number | null;
  readonly host: string | null;
  readonly pid: number | null;
  /** Null for a process without GPU. Its index is the process's own count. */
  readonly device: GpuIdentity | null;
  /** Place in the mesh by name of the axis; null where it has none. */
  readonly coordinates: Readonly<Record<string, number>> | null;
  /** In the order they were taken; of very many the first and the last ones. */
  readonly anchors: readonly ClockAnchor[];
  /** What capture left out, by reason. */
  readonly dropped: Readonly<Record<string, number>>;
}

/** One instant on two clocks. */
export interface ClockAnchor {
  /** `start`, `flush`, `end`. */
  readonly at: string;
  /** Nanoseconds since 1970, to about 256. */
  readonly wallNs: number;
  /** CLOCK_MONOTONIC: the same for all processes of a machine. NaN where unknown. */
  readonly monotonicNs: number;
}
