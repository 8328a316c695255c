import { groupBy } from '../../base/group-by.js';
import { largest } from '../../base/statistics.js';
import { type Share, share } from '../../base/units.js';
import type { RunInputs } from '../../ingest/read-run.js';
import type {
  BackgroundLine,
  CpuUse,
  LoaderRecord,
  ProcessCores,
  RankManifest,
} from '../../model/manifest.js';
import { hostKey } from '../../run/placement/place-gpus.js';
import { type JobActivity, type WorkerUse, workerUse } from '../../telemetry/processes/job-activity.js';
import type { ProcessActivity } from '../../telemetry/processes/process-activity.js';

/** What samples of /proc say of a rank. */
export interface RankActivity {
  readonly trainer: ProcessActivity;
  /** Null: it has no DataLoader workers. */
  readonly workers: WorkerUse | null;
  /** The whole job on the machine of the rank. */
  readonly machine: JobActivity;
}

/** What is known of a rank's cores, processor time and DataLoader. */
export type CapturedRank = Pick<RankManifest, 'cores' | 'loader'> &
  Partial<Pick<RankManifest, 'cpu' | 'host' | 'stacks' | 'steps' | 'parameters' | 'smallCollectives'>>;

type Manifests = ReadonlyMap<number, Pick<RankManifest, 'pid' | 'host'>>;

/**
 * The process of each rank in recordings of /proc: the one that its manifest names, or else that was started as this rank. In
 * a run of one rank it is the only process that trains. Of several recordings the latest counts.
 */
export function activityByRank(
  { beside }: Pick<RunInputs, 'beside'>,
  manifests: Manifests,
  ranks: readonly number[],
): ReadonlyMap<number, RankActivity> {
  const jobs = beside
    .flatMap((m) => m.evidence.activity ?? [])
    .sort((a, b) => (a.machine.startedNs ?? 0) - (b.machine.startedNs ?? 0));
  const found = new Map<number, RankActivity>();
  for (const job of jobs) {
    const ofTrainer = groupBy(job.workers, (w) => w.trainer);
    for (const trainer of job.trainers) {
      const rank = rankOf(trainer, job, manifests, ranks);
      if (rank === null) continue;
      const own = ofTrainer.get(trainer.facts.pid) ?? [];
      const atOneTime = Math.ceil(job.workerCount / Math.max(1, ofTrainer.size));
      const workers = workerUse(own, Math.min(own.length, atOneTime));
      found.set(rank, { trainer, workers, machine: job });
    }
  }
  return found;
}

function rankOf(
  { facts }: ProcessActivity,
  { machine, trainers }: JobActivity,
  manifests: Manifests,
  ranks: readonly number[],
): number | null {
  const isHere = ({ host }: { readonly host: string | null }) =>
    host === null || hostKey(host) === hostKey(machine.host);
  for (const [rank, manifest] of manifests) if (manifest.pid === facts.pid && isHere(manifest)) return rank;
  const stated = facts.environment.RANK ?? facts.environment.SLURM_PROCID ?? '';
  const rank = /^\d{1,6}$/.test(stated)
    ? Number(stated)
    : ranks.length === 1 && trainers.length === 1
      ? ranks[0]!
      : null;
  // A manifest that names another process of this machine: the recording is of another run.
  const known = rank === null ? undefined : manifests.get(rank);
  return known && known.pid !== null && isHere(known) ? null : rank;
}

/** What capture recorded about each rank; where it did not, what samples of /proc show. */
export function capturedRanks(
  manifests: ReadonlyMap<number, RankManifest>,
  activity: ReadonlyMap<number, RankActivity>,
): ReadonlyMap<number, CapturedRank> {
  const captured = new Map<number, CapturedRank>(manifests);
  for (const [rank, sampled] of activity) {
    const known = manifests.get(rank);
    captured.set(rank, {
      ...known,
      host: known?.host ?? sampled.machine.machine.host,
      cores: known?.cores ?? coresOf(sampled),
      cpu: known?.cpu ?? cpuOf(sampled),
      loader: known?.loader ?? loaderOf(sampled.workers),
    });
  }
  return captured;
}

const coresOf = ({ machine: { machine, trainers } }: RankActivity): ProcessCores => ({
  allowed: machine.cores,
  quota: machine.quota,
  ranks: trainers.length,
});

const cpuOf = ({ trainer, machine }: RankActivity): CpuUse => ({
  used: trainer.cpu,
  queued: trainer.delayed,
  threads: trainer.activeThreads,
  affinity: null,
  threadQueued: trainer.mainWants - trainer.mainCpu,
  threadRan: trainer.mainCpu,
  threadsBy: null,
  background: [],
  throttled: machine.quotaUsedUp,
});

/** A DataLoader with no known fields. */
export const UNKNOWN_LOADER: LoaderRecord = {
  numWorkers: null,
  prefetchFactor: null,
  pinMemory: null,
  persistentWorkers: null,
  batchSize: null,
  iterable: null,
  splitByWorker: null,
  framework: null,
  fetchMs: null,
  fetchRan: null,
  fetchQueued: null,
  ready: null,
  foundNone: null,
  batches: null,
  starts: null,
  made: null,
  startMs: null,
  firstMs: null,
  laterMs: null,
  endMs: null,
  workersRan: null,
  workersQueued: null,
};

const loaderOf = (use: WorkerUse | null): LoaderRecord | null =>
  use && { ...UNKNOWN_LOADER, numWorkers: use.workers, workersRan: use.ran, workersQueued: use.queued };

/** A Python thread of the job that runs next to the training thread. Only one of them can hold the interpreter lock. */
interface BackgroundThread {
  readonly line: BackgroundLine;
  /** Of a core. */
  readonly ran: Share;
  /** The training thread: share of time in which it runs. */
  readonly trainerRan: Share;
  /** Share of time in which the training thread neither runs nor waits for a core. */
  readonly trainerWaits: Share;
}

/** A thread that runs less hardly takes the lock from anybody. */
const LEAST_RAN = 0.1;
/** It is at the same lines in this part of the samples: it does not come and go. */
const STAYS = 0.3;
/** With fewer samples that is a guess. */
const ENOUGH = 20;

/** The thread that competes with the training thread for the interpreter lock. Null: none is seen. */
export function competingThread(captured: CapturedRank | undefined): BackgroundThread | null {
  const { cpu, stacks } = captured ?? {};
  const [line] = stacks?.background ?? [];
  if (!cpu || !stacks || !line || cpu.threadRan === null || stacks.samples < ENOUGH) return null;
  // Threads that have ended are not listed; without threads for operators, all other time of the process is theirs.
  const others = cpu.threads === 1 ? Math.max(0, cpu.used - cpu.threadRan) : 0;
  const ran = Math.max(others, largest([0, ...cpu.background.map((thread) => thread.ran)]));
  if (ran < LEAST_RAN || line.samples < STAYS * stacks.samples) return null;
  return {
    line,
    ran: share(ran),
    trainerRan: share(cpu.threadRan),
    trainerWaits: share(Math.max(0, 1 - cpu.threadRan - (cpu.threadQueued ?? 0))),
  };
}
