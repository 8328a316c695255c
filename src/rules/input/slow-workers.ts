import { formatCount, formatMs, formatWholePercent, share } from '../../base/units.js';
import type { RankView } from '../../diagnosis/ranks/rank-view.js';
import type { CapturedLoader } from '../../diagnosis/run-facts.js';
import { emptyingQueue } from '../../diagnosis/verdict/prefetch-queue.js';
import type { WorkerUse } from '../../telemetry/processes/worker-use.js';
import type { LoaderQueue } from '../../traces/detail/loader-queue.js';
import { atSpan, countEvidence, percentOfStep, timeEvidence } from '../kit/evidence.js';
import { INPUT_WAIT, NO_WORKERS, silentIfFed } from '../kit/input-wait.js';
import { type LoaderLimit, limitOf, mayDuplicate } from '../kit/loader.js';
import { type AnyRule, found, threshold } from '../kit/rule.js';
import { adviceFor, sleepsOnTimer } from '../kit/worker-advice.js';
import { sampledWorkers, workerEvidence } from '../kit/worker-samples.js';

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
    why: 'More workers help only while there are free cores (CPU-bound work) or latency to hide (IO-bound work). Which it is decides the fix.',
    fix: {
      text: 'Look at the workers while the job runs (whyslow triage). At 100% CPU: move decoding and augmentation to the GPU, or do them once beforehand. Sleeping in read(): stage the data on local NVMe, and pack small files into large shards.',
      code: 'whyslow triage --stacks      # what the workers of the running job do\n# IO:  webdataset/parquet shards on local NVMe\n# CPU: kornia / torchvision.transforms.v2 on the GPU',
    },
    check: 'Compare a few hundred batches before and after: same samples, same distribution of augmentation.',
    more: 'On the GPU: NVIDIA DALI, kornia, torchvision.transforms.v2 on tensors. Small files: pack them into tar shards (WebDataset) or Parquet.',
    cost: 'code',
    risk: 'data',
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
    const advice = adviceFor(view, captured, limit, sampled) ?? {
      fix: rule.info.fix,
      price: null,
      workers: null,
    };
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
      fix: advice.fix,
      cost: advice.workers === null || mayDuplicate(advice.workers, captured?.loader) ? 'code' : 'knob',
      risk: advice.workers === null || mayDuplicate(advice.workers, captured?.loader) ? 'data' : 'memory',
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
