import { groupBy } from '../../base/group-by.js';
import type { ProcessFacts, ProcessSample } from '../../model/recording.js';
import type { Role } from './roles.js';

/**
 * When a process counts as busy, waiting or held up. Sources: T1–T3, T8 are entries of the knowledge base (`whyslow rules`).
 * Shares of a core or of time unless a unit is named.
 */

/** A thread that runs, or waits for a CPU, this much of the time is pegged (T3: "~100%"; sampling loses a little). */
export const PEGGED = 0.8;
/** Below it a thread mostly waits. */
export const MOSTLY_WAITS = 0.5;
/** Bytes per second that a job which waits for input reads at least. */
export const READS = 1e6;
/** Share of time in state D, or in a wait for disk or network, that counts as input/output. */
export const WAITS_FOR_IO = 0.2;
/** Active threads for each CPU, from which threads hinder each other (T3: "many threads thrash a few cores"). */
export const THREADS_PER_CPU = 2;
/** A thread that runs or wants to this much of the time is active. */
const ACTIVE = 0.1;
/** Time that active threads wait for a CPU, as a share of the time they want one. */
export const DELAYED = 0.3;
/** Share of time in which some task waited for memory. Kernel documentation, PSI: any sustained value is a stall. */
export const MEMORY_STALL = 0.1;
/** Bytes per second read back from swap. */
export const SWAPS = 1e6;

/** One process over the whole watch. Shares of one core, or of the samples; rates in bytes per second. Null: not known. */
export interface ProcessActivity {
  readonly facts: ProcessFacts;
  readonly role: Role;
  /** Cores that all of its threads used. */
  readonly cpu: number;
  /** The thread that trains, most often the main thread: time on a CPU, and together with time that it waited for one. */
  readonly mainCpu: number;
  readonly mainWants: number;
  /** Threads of torch's backward pass on a GPU. */
  readonly backwardCpu: number;
  /** Threads that run, or want to, for a good part of the time. */
  readonly activeThreads: number;
  /** Time on a CPU plus time waiting for one, of all threads, in cores; and the waiting alone. */
  readonly wants: number;
  readonly delayed: number;
  /** Share of samples in which the main thread waited in this way. */
  readonly waits: Readonly<Record<WaitKind, number>>;
  readonly readRate: number | null;
  readonly diskRate: number | null;
  readonly swapped: number;
  /** How often a second the main thread had to leave its CPU to another. */
  readonly switchRate: number | null;
  /** Of a DataLoader worker: the process that trains with its batches. */
  readonly trainer: number | null;
}

/** A sample of a process, and when it was taken. */
export interface Entry {
  readonly at: number;
  readonly sample: ProcessSample;
}

/** Rates are over the time in which it was there. */
export function processActivity(
  facts: ProcessFacts,
  role: Role,
  series: readonly Entry[],
  trainer: number | null,
): ProcessActivity {
  const seconds = Math.max(series.at(-1)!.at - series[0]!.at, 1e-3);
  const threads = threadUse(series, seconds);
  const each = [...threads.values()];
  const main = trainingThread(threads.get(facts.pid), each);
  const sum = (of: (t: ThreadUse) => number, among = each) => among.reduce((total, t) => total + of(t), 0);
  const first = series[0]!.sample;
  const last = series.at(-1)!.sample;
  const rate = (from: number | null, to: number | null) =>
    from === null || to === null ? null : Math.max(0, to - from) / seconds;
  return {
    facts,
    role,
    cpu: sum((t) => t.cpu),
    mainCpu: main.cpu,
    mainWants: Math.min(1, main.cpu + main.delayed),
    backwardCpu: sum(
      (t) => t.cpu,
      each.filter((t) => t.name.startsWith('pt_autograd')),
    ),
    activeThreads: each.filter((t) => t.cpu + t.delayed >= ACTIVE).length,
    wants: sum((t) => t.cpu + t.delayed),
    delayed: sum((t) => t.delayed),
    waits: waitShares(series.map(({ sample }) => waitKind(sample.threads[0]?.state ?? '', sample.waitsIn))),
    readRate: rate(first.readChars, last.readChars),
    diskRate: rate(first.readBytes, last.readBytes),
    swapped: last.swappedBytes ?? 0,
    switchRate: rate(first.involuntarySwitches, last.involuntarySwitches),
    trainer,
  };
}

/** The main thread, unless another one does most of the work: Ray, for one, trains in a thread of its own. */
function trainingThread(main: ThreadUse | undefined, each: readonly ThreadUse[]): ThreadUse {
  const wants = (t: ThreadUse) => t.cpu + t.delayed;
  const busiest = each.filter((t) => !t.name.startsWith('pt_')).sort((a, b) => wants(b) - wants(a))[0];
  const none = { name: '', cpu: 0, delayed: 0 };
  if (main && (!busiest || wants(main) >= OTHER_THREAD * wants(busiest))) return main;
  return busiest ?? main ?? none;
}
const OTHER_THREAD = 0.2;

interface ThreadUse {
  readonly name: string;
  /** Cores. */
  readonly cpu: number;
  readonly delayed: number;
}

/** What each thread used between the first and last sample that show it. A short life counts for as long as it was. */
function threadUse(series: readonly Entry[], seconds: number): ReadonlyMap<number, ThreadUse> {
  const byId = groupBy(
    series.flatMap(({ sample }) => sample.threads),
    (thread) => thread.id,
  );
  return new Map(
    [...byId].map(([id, samples]) => {
      const first = samples[0]!;
      const last = samples.at(-1)!;
      return [
        id,
        {
          name: last.name,
          cpu: Math.max(0, last.cpu - first.cpu) / seconds,
          delayed: Math.max(0, (last.delayed ?? 0) - (first.delayed ?? 0)) / seconds,
        },
      ];
    }),
  );
}

function waitShares(kinds: readonly WaitKind[]): Readonly<Record<WaitKind, number>> {
  const share = (kind: WaitKind) => kinds.filter((k) => k === kind).length / kinds.length;
  return {
    runs: share('runs'),
    disk: share('disk'),
    network: share('network'),
    sleep: share('sleep'),
    poll: share('poll'),
    lock: share('lock'),
    other: share('other'),
  };
}

/** What a thread does at one moment. `poll`: waits for a message, as workers do for work and loops for batches. */
type WaitKind = 'runs' | 'disk' | 'network' | 'sleep' | 'poll' | 'lock' | 'other';

/** Names of the kernel's functions that a thread sleeps in (`/proc/PID/wchan`), by what they begin with or contain. */
const KINDS: readonly (readonly [WaitKind, RegExp])[] = [
  [
    'disk',
    /io_schedule|folio_wait|wait_on_(?:page|buffer)|bit_wait|blk_|nfs|rpc_wait|fuse|request_wait|ceph|lustre|cl_sync|ext4|xfs|btrfs/,
  ],
  ['network', /sk_wait|tcp_|inet_|unix_stream_(?:data_wait|read)/],
  ['sleep', /nanosleep/],
  ['poll', /poll|select|pipe_(?:read|wait)|skb_wait/],
  ['lock', /futex|do_wait\b|semtimedop/],
];

/** Without a name (`0`, not readable) a sleeping thread is `other`. */
function waitKind(state: string, waitsIn: string | null): WaitKind {
  if (state === 'R') return 'runs';
  if (state === 'D') return 'disk';
  return KINDS.find(([, names]) => names.test(waitsIn ?? ''))?.[0] ?? 'other';
}
