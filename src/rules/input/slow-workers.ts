import { emptyingQueue } from '../../answers/steps/prefetch-queue.js';
import {
  bytes,
  formatBytes,
  formatCount,
  formatMs,
  formatWholePercent,
  ns,
  share,
} from '../../base/units.js';
import type { RankView } from '../../diagnosis/ranks/rank-view.js';
import type { CapturedLoader, CapturedRank, RunFacts } from '../../diagnosis/run-facts.js';
import { fasterWorkersInShort } from '../../remedies/fixes/faster-workers.js';
import { about, type Use, use } from '../../remedies/remedies.js';
import { dropInputWaits } from '../../replay/edits.js';
import type { WorkerUse } from '../../telemetry/processes/job-activity.js';
import { READS } from '../../telemetry/processes/process-activity.js';
import type { LoaderQueue } from '../../traces/detail/loader-queue.js';
import {
  atSpan,
  countEvidence,
  evidence as evidenceOf,
  percentOfStep,
  timeEvidence,
} from '../kit/evidence.js';
import type { Evidence } from '../kit/finding.js';
import {
  batchWork,
  coresOf,
  INPUT_WAIT,
  type LoaderLimit,
  limitOf,
  NO_WORKERS,
  planWorkers,
  restartsOf,
  silentIfFed,
  unsplitBy,
} from '../kit/loader.js';
import { priceOf, priceOfStep } from '../kit/price.js';
import { type AnyRule, found, type Price, silent, threshold } from '../kit/rule.js';

/** Restarts that take this part of the wait explain it. */
const MOSTLY_RESTARTS = 0.5;
/** A step waits if it waits for more than this part of the step. */
const WAITS = 0.02;

export const rule: AnyRule = {
  reads: 'traces and logs',
  unpriced: 'allowed',
  info: {
    id: 'slow-workers',
    alias: 'T8',
    title: 'The loader is too slow although it has workers',
    needs: 'trace, better with what whyslow run records about the loader, or samples of /proc',
    looksFor:
      'Nothing computes in _MultiProcessingDataLoaderIter.__next__: the workers do not keep up. In a short trace: fewer batches arrive than steps use.',
    why: 'More workers help only while there are free cores (CPU-bound work) or latency to hide (IO-bound work). The limit decides the fix.',
    more: 'On the GPU: NVIDIA DALI, kornia, torchvision.transforms.v2 on tensors. Small files: pack them into tar shards (WebDataset) or Parquet.',
    ...about('faster-workers'),
    thresholds: [
      INPUT_WAIT,
      threshold(
        'batches delivered',
        share(0.5),
        'of those used, in a short trace',
        'zoo: 12 of 14 traces cut short with fewer are of loops that wait later',
      ),
    ],
  },
  check(view, run) {
    const captured = run.captured.get(view.rank);
    const hasWorkers =
      view.source === 'trace' ? view.facts.input.inWorkers > 0 : (captured?.loader?.numWorkers ?? 0) > 0;
    if (!hasWorkers) return NO_WORKERS;
    const restarts = restartsOf(captured);
    if (restarts && restarts.starting + restarts.waiting >= MOSTLY_RESTARTS * view.time.idle_data)
      return silent('the steps wait for workers to start: workers-restarted covers it');
    const sampled = sampledWorkers(view, run);
    const limit = limitOf(captured?.loader, sampled);
    const queue = emptyingQueue(view);
    const fed = silentIfFed(view);
    if (fed && !queue) return fed;
    const evidence =
      queue && fed
        ? countEvidence(view, queue.delivered, 'batches', deliveryText(queue))
        : timeEvidence(
            view,
            view.time.idle_data,
            waitText(view) + whatWorkersDo(limit, captured?.loader, sampled),
          );
    const advice = adviceFor(view, captured, limit, sampled);
    return found({
      id: 'slow-workers',
      title: 'the loader’s workers do not keep up',
      confidence: fed ? 0.55 : 0.85,
      addresses: 'data',
      evidence: [
        view.source === 'trace' ? atSpan(view.facts.input.longest, evidence) : evidence,
        ...workerEvidence(view, run),
      ],
      price: fed ? null : advice.price,
      remedy: advice.remedy,
    });
  },
};

const deliveryText = ({ delivered, taken }: LoaderQueue) =>
  `the workers delivered ${formatCount(Math.round(delivered), 'batch', 'batches')} while the steps used ${taken}: steps wait once the prefetch queue is empty`;

function waitText(view: RankView): string {
  const exposed = view.time.idle_data;
  const idle = view.facts.hasGpuWork ? 'GPU idle' : 'nothing computes for';
  const amount = `${idle} ${formatMs(exposed)} per step (${percentOfStep(view, exposed)})`;
  if (view.source === 'log') return `data_wait: ${amount}`;
  const { timePerStep } = view.facts;
  const waiting = timePerStep.filter((t) => t.idle_data > WAITS * view.step.unprofiled).length;
  const where =
    waiting > 0
      ? `${waiting} of ${timePerStep.length} steps wait`
      : 'according to the event log; the few recorded steps found their batches ready';
  return `_MultiProcessingDataLoaderIter.__next__: ${amount}, ${where}`;
}

const percent = (part: number | null) => formatWholePercent(share(part ?? 0));

/** What capture saw of the workers. */
function whatWorkersDo(
  limit: LoaderLimit,
  loader: CapturedLoader | null | undefined,
  sampled: WorkerUse | null,
): string {
  if (!loader) return '';
  switch (limit) {
    case 'cpu':
      return `; a worker computes for ${percent(loader.workersRan)} of the time`;
    case 'io':
      return `; a worker sleeps for ${percent(1 - (loader.workersRan ?? 0) - (loader.workersQueued ?? 0))} of the time${sleepsOnTimer(sampled) ? '' : ', as reads do'}`;
    case 'cores':
      return `; a worker waits for a free core for ${percent(loader.workersQueued)} of the time`;
    case 'handover':
      return `; the training thread unpacks batches for ${percent(loader.fetchRan)} of the wait`;
    default:
      return '';
  }
}

/** What to do about workers that do not keep up. */
interface Advice {
  readonly remedy: Use;
  readonly price: Price | null;
}

/** More workers are not worth their memory for less. */
const WORTH_WORKERS = 1.1;

/** Batches differ: workers beyond what the mean rate needs. */
const MORE_THAN_NEEDED = 1.25;
/** What they wait for is not known: more is not worth a first try. */
const MOST_TIMES = 4;

function adviceFor(
  view: RankView,
  captured: CapturedRank | undefined,
  limit: LoaderLimit,
  sampled: WorkerUse | null,
): Advice {
  const loader = captured?.loader;
  const hasGpu = view.facts.hasGpuWork;
  const [now, cores] = [loader?.numWorkers ?? 0, coresOf(captured)];
  const whole = view.step.unprofiled;
  const exposed = view.time.idle_data;
  if (limit === 'handover')
    return (
      (restartsOf(captured) ? null : inProcess(view, loader)) ?? {
        remedy: use('faster-workers', { limit, hasGpu }),
        price: null,
      }
    );
  if (limit === 'unknown' || now === 0 || cores === null) {
    const needed = Math.ceil((MORE_THAN_NEEDED * whole) / Math.max(1, whole - exposed));
    const times = Math.min(MOST_TIMES, needed);
    const feasible = times > 1 && exposed > WAITS * whole;
    return {
      remedy: use('faster-workers', {
        limit: 'unknown',
        hasGpu,
        ...(feasible ? { times } : {}),
        ...(now > 0 ? { now } : {}),
      }),
      price: null,
    };
  }
  // While steps wait, all workers are busy.
  const work = batchWork(loader, whole);
  const loaded = { per: now * whole, step: whole, wait: exposed, now };
  const { workers, floor } = planWorkers(work, loaded, captured);
  const slow = { limit: limit !== 'io' ? 'cpu' : sleepsOnTimer(sampled) ? 'timer' : 'io', hasGpu } as const;
  if (limit === 'cores' || workers <= now || floor('likely') * WORTH_WORKERS > whole) {
    const forEachRank = (captured?.cores?.ranks ?? 1) > 1;
    return { remedy: use('faster-workers', { ...slow, now, cores, forEachRank }), price: null };
  }
  return {
    remedy: use('loader-workers', {
      workers,
      now,
      cores,
      sleep: limit === 'io',
      persistent: loader?.persistentWorkers !== true,
      unsplit: unsplitBy(workers, loader),
      instead: fasterWorkersInShort(slow),
    }),
    price:
      priceOf(view, dropInputWaits, floor) ??
      priceOfStep(view, (level) => Math.max(whole - exposed, floor(level))),
  };
}

/** Batches that the training thread unpacks for longer than a worker takes to make them. Null: they are not. */
function inProcess(view: RankView, loader: CapturedLoader | null | undefined): Advice | null {
  const { numWorkers, workersRan, fetchRan } = loader ?? {};
  if (!numWorkers || workersRan == null || fetchRan == null) return null;
  const { unprofiled: whole } = view.step;
  const exposed = view.time.idle_data;
  // Packing is a part of it, which goes too.
  const made = workersRan * numWorkers * whole;
  if (whole < WORTH_WORKERS * (whole - exposed + made)) return null;
  const texts = { taking: formatMs(ns(fetchRan * exposed)), made: formatMs(ns(made)) };
  // At worst the workers also wait for reads, which the training thread would wait for as well.
  return {
    remedy: use('batch-at-once', texts),
    price: priceOfStep(view, (level) => (level === 'low' ? whole : whole - exposed + made)),
  };
}

/** Workers sleep on a timer, and do not wait for reads. */
const sleepsOnTimer = (sampled: WorkerUse | null): boolean =>
  sampled !== null && sampled.pause > sampled.disk + sampled.network;

/** What samples of /proc show about a rank's DataLoader workers. */
const sampledWorkers = (view: RankView, { evidence: { activity } }: RunFacts): WorkerUse | null =>
  activity.get(view.rank)?.workers ?? null;

const LEAST_NAMED = 0.05;

/** One sentence with what decides between computing and reading. Empty without samples. */
function workerEvidence(view: RankView, run: RunFacts): readonly Evidence[] {
  const sampled = sampledWorkers(view, run);
  if (!sampled) return [];
  const states = [
    [sampled.ran, 'run'],
    [sampled.queued, 'wait for a core'],
    [sampled.disk, 'wait for a disk or network file system'],
    [sampled.network, 'wait for the network'],
    [sampled.pause, 'sleep on a timer (time.sleep)'],
    [sampled.asks, 'wait for a request or a lock'],
  ] as const;
  const named = states.flatMap(([part, what]) =>
    part >= LEAST_NAMED ? [`${what} ${percent(part)} of the time`] : [],
  );
  const rate = (perSecond: number) => `${formatBytes(bytes(Math.round(perSecond)))}/s`;
  const reads =
    sampled.reads >= READS / 10
      ? `; together they read ${rate(sampled.reads)}, ${rate(sampled.fromDisk)} from disk`
      : '';
  const who = formatCount(sampled.workers, 'DataLoader worker');
  const text = `in /proc, ${who}: ${named.length > 0 ? named.join(', ') : 'asleep all the time'}${reads}`;
  return [evidenceOf(view, text, Math.round(100 * sampled.ran), '%')];
}
