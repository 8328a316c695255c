import type { MachineCounters, ProcessFacts, ProcessSample, Recording } from '../../src/model/recording.js';

/** A process of a drawn job. Shares of one core; bytes per second. */
export interface DrawnProcess {
  readonly pid: number;
  readonly parent?: number;
  readonly command?: string;
  /** Of the main thread. */
  readonly name?: string;
  readonly torch?: boolean;
  readonly gpu?: boolean | null;
  readonly environment?: Readonly<Record<string, string>>;
  readonly main?: number;
  readonly delayed?: number;
  /** Further threads: name, CPU, waiting for a CPU. */
  readonly threads?: readonly (readonly [name: string, cpu: number, delayed?: number])[];
  readonly reads?: number;
  /** What the main thread sleeps in; `D` for a disk. */
  readonly waits?: string;
  /** Of the main thread, as /proc has it. */
  readonly state?: string;
  readonly switches?: number;
  /** In seconds; the whole watch unless given. */
  readonly lives?: readonly [number, number];
}

export interface DrawnJob {
  readonly processes: readonly DrawnProcess[];
  readonly cores?: number;
  readonly quota?: number | null;
  /** Rates a second of counters. */
  readonly counters?: Partial<Readonly<Record<keyof MachineCounters, number>>>;
  readonly gpuText?: string | null;
  readonly gpus?: readonly number[] | null;
  readonly pid?: number | null;
  readonly others?: readonly number[];
}

const SECONDS = 10;
const EVERY = 0.5;

/** For tests of this folder: a job watched for ten seconds. */
export function drawJob(job: DrawnJob): Recording {
  const times = Array.from({ length: SECONDS / EVERY + 1 }, (_, i) => i * EVERY);
  const lives = (p: DrawnProcess, at: number) => at >= (p.lives?.[0] ?? 0) && at <= (p.lives?.[1] ?? SECONDS);
  return {
    machine: {
      host: 'here',
      startedNs: 1.7e18,
      cores: job.cores ?? 16,
      quota: job.quota ?? null,
      pid: job.pid ?? null,
      gpus: job.gpus ?? null,
      noGpu: job.gpuText == null ? 'there is no nvidia-smi or rocm-smi on PATH' : null,
      others: job.others ?? [],
      hidden: 0,
    },
    processes: job.processes.map(factsOf),
    samples: times.map((seconds) => ({
      seconds,
      processes: job.processes.filter((p) => lives(p, seconds)).map((p) => sampleOf(p, seconds)),
      counters: countersAt(job.counters ?? {}, seconds),
    })),
    gpuText: job.gpuText ?? null,
  };
}

const factsOf = (p: DrawnProcess): ProcessFacts => ({
  pid: p.pid,
  parent: p.parent ?? 0,
  command: p.command ?? 'python train.py',
  torch: p.torch ?? true,
  torchVersion: '2.11.0+cu130',
  gpu: p.gpu === undefined ? true : p.gpu,
  environment: p.environment ?? {},
});

const sampleOf = (p: DrawnProcess, at: number): ProcessSample => ({
  pid: p.pid,
  readChars: (p.reads ?? 0) * at,
  readBytes: 0,
  majorFaults: 0,
  swappedBytes: 0,
  voluntarySwitches: (p.switches ?? 100) * at,
  involuntarySwitches: 0,
  waitsIn: p.waits ?? null,
  threads: [[p.name ?? 'python', p.main ?? 0, p.delayed ?? 0] as const, ...(p.threads ?? [])].map(
    ([name, cpu, delayed = 0], i) => ({
      id: p.pid + i,
      name,
      state: i > 0 ? 'S' : p.state ? p.state : p.waits === 'D' ? 'D' : (p.main ?? 0) >= 0.5 ? 'R' : 'S',
      cpu: cpu * at,
      delayed: delayed * at,
    }),
  ),
});

const countersAt = (rates: NonNullable<DrawnJob['counters']>, at: number): MachineCounters => {
  const value = (name: keyof MachineCounters) => (rates[name] === undefined ? null : rates[name] * at);
  return {
    runnable: rates.runnable ?? null,
    cpuPressure: value('cpuPressure'),
    ioPressure: value('ioPressure'),
    memoryPressure: value('memoryPressure'),
    throttled: value('throttled'),
    periods: value('periods'),
    throttledPeriods: value('throttledPeriods'),
    memoryAvailable: null,
    memoryTotal: null,
    swappedIn: value('swappedIn'),
    received: value('received'),
    cpuUsed: value('cpuUsed'),
    cpuStolen: value('cpuStolen'),
  };
};

const LIMITS = `index, name, clocks.max.sm [MHz], power.limit [W]
0, NVIDIA H200, 1980 MHz, 700.00 W
`;
const HEADER = `# gpu    pwr  gtemp  mtemp     sm    mem   mclk   pclk  pviol  tviol
# Idx      W      C      C      %      %    MHz    MHz      %   bool
`;

/** What nvidia-smi (driver 580) wrote of loops of the zoo, the columns that are read; each sample is one line. */
export const DMON = {
  gpuBound: table(
    '0 688 60 51 97 46 3201 1920 0 0',
    '0 695 61 52 100 46 3201 1830 100 0',
    '0 692 61 52 100 47 3201 1815 100 0',
  ),
  dataCpu: table(
    '0 126 41 41 9 2 3201 1980 0 0',
    '0 124 41 41 0 0 3201 1980 0 0',
    '0 125 41 41 0 0 3201 1980 0 0',
    '0 123 41 41 0 0 3201 1980 0 0',
  ),
  dataIo: table(
    '0 135 42 41 0 0 3201 1980 0 0',
    '0 136 42 41 9 2 3201 1980 0 0',
    '0 136 42 41 0 0 3201 1980 0 0',
    '0 133 42 41 9 2 3201 1980 0 0',
  ),
  launch: table(
    '0 136 43 43 13 1 3201 1980 0 0',
    '0 133 43 43 12 1 3201 1980 0 0',
    '0 134 43 43 11 1 3201 1980 0 0',
  ),
} as const;

/** Lines of dmon below the limits of the GPU. */
export function table(...lines: readonly string[]): string {
  return LIMITS + HEADER + lines.map((line) => `    ${line}\n`).join('');
}
