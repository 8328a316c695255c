import { mean } from '../../base/statistics.js';
import type { ProcessActivity } from './process-activity.js';

/** What the DataLoader workers of a rank did, on average. Shares of time; bytes per second of all of them together. */
export interface WorkerUse {
  readonly workers: number;
  readonly ran: number;
  /** Ready to run, and waited for a CPU. */
  readonly queued: number;
  /** By samples: asleep in a read from a disk or network file system (state D), in a socket, in a pause of its own. */
  readonly disk: number;
  readonly network: number;
  readonly pause: number;
  /** By samples: asleep until somebody asks for a batch, or in a lock. */
  readonly asks: number;
  readonly reads: number;
  readonly fromDisk: number;
}

/** Null without workers. `count`: how many there were at a time; over a long job there may have been many more. */
export function workerUse(workers: readonly ProcessActivity[], count: number): WorkerUse | null {
  if (workers.length === 0) return null;
  const average = (of: (w: ProcessActivity) => number) => mean(workers.map(of));
  const rate = (of: (w: ProcessActivity) => number) => count * average(of);
  return {
    workers: count,
    ran: Math.min(
      1,
      average((w) => w.mainCpu),
    ),
    queued: Math.min(
      1,
      average((w) => w.mainWants - w.mainCpu),
    ),
    disk: average((w) => w.waits.disk),
    network: average((w) => w.waits.network),
    pause: average((w) => w.waits.sleep),
    asks: average((w) => w.waits.poll + w.waits.lock),
    reads: rate((w) => Math.max(w.readRate ?? 0, w.diskRate ?? 0)),
    fromDisk: rate((w) => w.diskRate ?? 0),
  };
}
