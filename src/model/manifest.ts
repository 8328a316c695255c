import type { GpuIdentity } from './gpu-identity.js';

/**
 * What capture records about a run beside its measurements: `run.json` and `ranks/rank_<r>.json`. The reader checks every
 * field: what is missing or of the wrong type is null or left out, and texts and lists have a bounded length.
 */
export type Manifest = RunManifest | RankManifest;

export interface RunManifest {
  readonly of: 'run';
  readonly run: string | null;
  readonly worldSize: number | null;
  /** Axes of the device mesh, outermost first; null where there is no mesh. */
  readonly mesh: readonly MeshAxis[] | null;
  /** Nanoseconds since 1970, exact to about 256 ns (it was a JSON number). */
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
  /** Null for a process without a GPU. The index is the one that the process uses. */
  readonly device: GpuIdentity | null;
  /** Position in the mesh by name of the axis; null where there is none. */
  readonly coordinates: Readonly<Record<string, number>> | null;
  /** In the order they were taken. Of very many, only the first and the last are kept. */
  readonly anchors: readonly ClockAnchor[];
  /** How many records capture dropped, by reason. */
  readonly dropped: Readonly<Record<string, number>>;
}

/** One instant on two clocks. */
export interface ClockAnchor {
  /** `start`, `flush`, `end`. */
  readonly at: string;
  /** Nanoseconds since 1970, exact to about 256 ns. */
  readonly wallNs: number;
  /** CLOCK_MONOTONIC: the same for all processes of a machine. Null where unknown. */
  readonly monotonicNs: number | null;
}
