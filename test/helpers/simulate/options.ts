export type Parallelism = 'ddp' | 'fsdp' | 'pipeline' | 'mesh2d' | 'mesh3d';
/** `clock`: kernels take longer because the GPU is hot and its clock low; telemetry shows it. */
export type FaultKind = 'gpu' | 'clock' | 'data' | 'host' | 'compile' | 'gc' | 'link' | 'rotating';
export type FaultPattern = 'persistent' | 'spike' | 'periodic';

/** What goes wrong. `size` is a share of the target step: 0.2 makes the rank 10 ms late in steps of 50 ms. */
export interface Fault {
  readonly kind: FaultKind;
  /** The late ranks. `link`: the first rank's group has it. `rotating`: these ranks take turns; empty: all do. */
  readonly ranks: readonly number[];
  readonly size: number;
  /** Persistent by default; `rotating` hits every step. */
  readonly pattern?: FaultPattern;
  /** For `periodic`: every nth step. */
  readonly period?: number;
  /** For `spike`: the step, counted from 0. */
  readonly at?: number;
}

export interface ClockOptions {
  /** Hosts' clocks are off by up to this, either way. */
  readonly offsetUsPerHost: number;
  /** They also run fast or slow by up to this. */
  readonly driftPpm: number;
  /** How far apart members on one host see a collective end (measured: 0.6–0.8 µs). */
  readonly withinHostUs: number;
  /** The same between hosts. */
  readonly betweenHostsUs: number;
}

export interface SimulateOptions {
  readonly seed: number;
  /** 2 to 4,096. */
  readonly ranks?: number;
  readonly ranksPerHost?: number;
  readonly steps?: number;
  readonly parallelism?: Parallelism;
  /** Approximate healthy step time; the truth has the exact one. */
  readonly stepMs?: number;
  /** Units of communication: DDP buckets, FSDP units, tensor-parallel blocks. */
  readonly layers?: number;
  /** Lognormal spread of kernels and transfers, relative; the host's is ten times that. */
  readonly noise?: number;
  /** Permanent relative speed differences between GPUs. */
  readonly gpuSpread?: number;
  readonly clock?: Partial<ClockOptions>;
  /** Profilers start up to this far apart: the first rank waits for the others in the first collective. */
  readonly startSkewMs?: number;
  readonly fault?: Fault | null;
  /** Ranks without a file. */
  readonly missingRanks?: readonly number[];
  /** Leave out `Seq` and `Comms Id`, as versions before torch 2.6 do. */
  readonly withoutSeq?: boolean;
  /** Approximate events recorded per step and rank; sets the file size. */
  readonly eventsPerStep?: number;
  /** `loss.item()` every nth step. 0: never, so the host runs ahead. */
  readonly syncEvery?: number;
  /** Members of a tensor-parallel group (mesh2d, mesh3d). */
  readonly tensorParallel?: number;
  /** Pipeline stages (pipeline, mesh3d), and micro-batches per step. */
  readonly stages?: number;
  readonly microBatches?: number;
  /** All-gathers that FSDP issues ahead. */
  readonly prefetch?: number;
}

export type Settings = Required<Omit<SimulateOptions, 'clock'>> & { readonly clock: ClockOptions };

const CLOCK: ClockOptions = { offsetUsPerHost: 1000, driftPpm: 0, withinHostUs: 0.6, betweenHostsUs: 2 };

export function settingsOf(options: SimulateOptions): Settings {
  const ranks = options.ranks ?? 8;
  const ranksPerHost = Math.min(options.ranksPerHost ?? 8, ranks);
  const eventsPerStep = options.eventsPerStep ?? 150;
  const stages = options.stages ?? (ranks % 4 === 0 && ranks >= 8 ? 4 : 2);
  const settings: Settings = {
    ranks,
    ranksPerHost,
    eventsPerStep,
    stages,
    steps: 8,
    parallelism: 'ddp',
    stepMs: 50,
    layers: 4,
    noise: 0.015,
    gpuSpread: 0.003,
    startSkewMs: 0,
    fault: null,
    missingRanks: [],
    withoutSeq: false,
    syncEvery: 1,
    prefetch: 1,
    microBatches: eventsPerStep < 150 ? stages : 2 * stages,
    tensorParallel: largestDivisor(ranks, Math.min(8, ranksPerHost, Math.max(2, ranks / 4))),
    ...defined(options),
    clock: { ...CLOCK, ...options.clock },
  };
  check(settings);
  return { ...settings, ranksPerHost };
}

function check(s: Settings): void {
  const inStages = s.parallelism === 'pipeline' || s.parallelism === 'mesh3d';
  const isTensorParallel = s.parallelism === 'mesh2d' || s.parallelism === 'mesh3d';
  const groupOf = (inStages ? s.stages : 1) * (isTensorParallel ? s.tensorParallel : 1);
  if (!(s.ranks >= 2 && s.ranks <= 4096)) throw new Error(`ranks: 2 to 4,096, not ${s.ranks}`);
  if (s.ranks % groupOf !== 0) throw new Error(`${s.ranks} ranks do not divide into groups of ${groupOf}`);
  if (s.steps < 3) throw new Error('steps: at least 3, the first does not count');
  const stray = s.fault?.ranks.find((r) => !(r >= 0 && r < s.ranks));
  if (stray !== undefined) throw new Error(`fault on rank ${stray} of ${s.ranks}`);
}

function largestDivisor(n: number, most: number): number {
  for (let d = Math.floor(most); d > 1; d--) if (n % d === 0) return d;
  return 1;
}

/** Drops properties that are undefined, so that they do not hide a default. */
function defined<T extends object>(options: T): T {
  return Object.fromEntries(Object.entries(options).filter(([, v]) => v !== undefined)) as T;
}
