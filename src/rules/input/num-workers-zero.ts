import { mean } from '../../base/statistics.js';
import { formatCount, formatMs, formatWholePercent, fromMs, ms, ns, share } from '../../base/units.js';
import type { LogView, RankView } from '../../diagnosis/ranks/rank-view.js';
import type { CapturedRank } from '../../diagnosis/run-facts.js';
import { dropInputWaits } from '../../replay/edits.js';
import { atInputWait, percentOfStep, timeEvidence } from '../kit/evidence.js';
import type { Finding } from '../kit/finding.js';
import { INPUT_WAIT, silentIfFed } from '../kit/input-wait.js';
import {
  coresOf,
  limitOf,
  loaderCode,
  mayDuplicate,
  planWorkers,
  USUAL_WORKERS,
  type WorkerPlan,
  withoutDuplicates,
} from '../kit/loader.js';
import { priceFromLog, priceOf } from '../kit/price.js';
import { type AnyRule, found, type RuleResult, silent, threshold } from '../kit/rule.js';

export const rule: AnyRule = {
  reads: 'traces and logs',
  lines: /torch\.utils\.data|DataLoader|next\(|load/i,
  unpriced: 'allowed',
  smallGain: 'allowed',
  info: {
    id: 'num-workers-zero',
    alias: 'T4',
    title: 'Batches are made on the training thread (num_workers=0)',
    needs: 'trace, events, script or config',
    looksFor:
      'Nothing computes during DataLoader.__next__ of a _SingleProcessDataLoaderIter: decoding, augmenting and collating happen between the steps.',
    why: 'While the main process prepares a batch it launches nothing, so the GPU waits. Worker processes prepare the next batches during the step.',
    fix: {
      text: 'Load in worker processes. Start at the number of cores minus one, bounded by memory per worker; persistent_workers keeps them between epochs. An IterableDataset must split its data by worker (get_worker_info), or every worker yields all of it.',
      code: loaderCode(
        { num_workers: USUAL_WORKERS.likely, persistent_workers: true, pin_memory: true },
        null,
      ),
    },
    check:
      'The same samples must arrive. With augmentation, seed each worker (worker_init_fn). With an IterableDataset, split by worker id, or every worker yields everything. Keep worker count and batch size the same across runs that you compare.',
    more: 'Each worker is a fork with its own memory: too many end in “DataLoader worker killed”, or a bare “Killed” of the container. Once the GPU is fed, further workers bring nothing. transformers: dataloader_num_workers.',
    cost: 'knob',
    risk: 'memory',
    thresholds: [
      INPUT_WAIT,
      threshold(
        'workers priced',
        USUAL_WORKERS.likely,
        'processes',
        `low ${USUAL_WORKERS.low}, high ${USUAL_WORKERS.high}, where it is not known how many cores there are; else as many as the step needs, at most the cores`,
      ),
    ],
  },
  check(view, run) {
    const captured = run.captured.get(view.rank);
    const madeIn = view.inputLine;
    if (madeIn !== null) return madeInLoop(view, madeIn, captured);
    if (view.source === 'log') return fromPhases(view, captured);
    const { input, steps, hasGpuWork } = view.facts;
    if (input.inMain === 0 && input.inferred === 0)
      return silent(
        input.inWorkers > 0 ? 'the loader already has workers' : 'no DataLoader found on the training thread',
      );
    const fed = silentIfFed(view);
    if (fed) return fed;
    const exposed = view.time.idle_data;
    // The log may know of longer waits than the few steps of the trace.
    const fetch = Math.max(mean(input.waitPerStep), exposed);
    const marked = input.inMain > 0;
    const where = marked
      ? '_SingleProcessDataLoaderIter.__next__'
      : 'from the start of a step to the copy of its batch';
    const idle = hasGpuWork ? `${formatMs(exposed)} of it with the GPU idle` : 'while nothing computes';
    const text = `${where}: ${formatMs(ns(fetch))} per step on the training thread, ${idle} (${percentOfStep(view, exposed)} of the step, over ${formatCount(steps.count, 'step')})${whatItDoes(captured)}`;
    const plan = planWorkers(fetch, view.step.unprofiled - exposed, captured);
    return found({
      id: marked ? 'num-workers-zero' : 'input-on-training-thread',
      title: marked
        ? 'num_workers=0 loads every batch on the training thread'
        : 'each batch is made on the training thread before the step',
      // Without a loader's span, the beginning of a step is taken for it.
      confidence: marked ? 0.97 : 0.65,
      addresses: 'data',
      evidence: [atInputWait(view, timeEvidence(view, exposed, text))],
      price: priceOf(view, dropInputWaits, plan.floor),
      fix: fixOf(view, captured, plan),
      ...riskOf(plan, captured),
    });
  },
};

const riskOf = ({ workers }: WorkerPlan, captured: CapturedRank | undefined) =>
  mayDuplicate(workers, captured?.loader) ? ({ risk: 'data', cost: 'code' } as const) : {};

function fixOf(view: RankView, captured: CapturedRank | undefined, plan: WorkerPlan): Finding['fix'] {
  const loader = captured?.loader;
  const cores = coresOf(captured);
  const howMany =
    cores === null
      ? 'Start at the number of cores minus one, bounded by memory per worker'
      : `${formatCount(plan.workers, 'worker is', 'workers are')} ${plan.workers < cores - 1 ? 'enough for this step' : `what ${formatCount(cores, 'core')} can feed`}`;
  const busy =
    limitOf(loader) === 'cores'
      ? 'All cores are busy: first free some (other jobs, OMP_NUM_THREADS), or workers gain nothing. '
      : '';
  const iterable = loader
    ? ''
    : ' An IterableDataset must split its data by worker (get_worker_info), or every worker yields all of it.';
  const fix = {
    text: `${busy}Load in worker processes. ${howMany}; persistent workers stay between epochs.${iterable}`,
    code: loaderCode(
      {
        num_workers: plan.workers,
        persistent_workers: true,
        pin_memory: view.facts.hasGpuWork && loader?.pinMemory !== true,
      },
      loader,
    ),
  };
  return withoutDuplicates(fix, plan.workers, loader);
}

/** `; it computes 98% of that time`: what capture saw of the requests. */
function whatItDoes(captured: CapturedRank | undefined): string {
  const loader = captured?.loader;
  const percent = (part: number | null | undefined) => formatWholePercent(share(part ?? 0));
  switch (loader?.numWorkers === 0 ? limitOf(loader) : 'unknown') {
    case 'cpu':
      return `; it computes for ${percent(loader?.fetchRan)} of that time`;
    case 'io':
      return `; it sleeps for ${percent(1 - (loader?.fetchRan ?? 0) - (loader?.fetchQueued ?? 0))} of that time, as reads do`;
    case 'cores':
      return `; it waits for a free core for ${percent(loader?.fetchQueued)} of that time`;
    default:
      return '';
  }
}

/** Stack samples show that the loop makes its batches itself. */
function madeInLoop(view: RankView, line: string, captured: CapturedRank | undefined): RuleResult {
  const fed = silentIfFed(view);
  if (fed) return fed;
  const exposed = view.time.idle_data;
  const text = `stack samples: ${formatMs(exposed)} per step (${percentOfStep(view, exposed)}) to make the next batch, mostly in ${line}`;
  const plan = planWorkers(exposed, view.step.unprofiled - exposed, captured);
  return found({
    id: 'input-on-training-thread',
    title: 'each batch is made on the training thread before the step',
    confidence: 0.8,
    addresses: 'data',
    evidence: [timeEvidence(view, exposed, text)],
    price: priceFromLog(view, (level) => Math.max(view.step.unprofiled - exposed, plan.floor(level))),
    fix: {
      text: `Make batches in worker processes: put that code into a Dataset or an IterableDataset and read it through a DataLoader. An IterableDataset must split its data by worker (get_worker_info). At best, with no wait left, a step takes ${formatMs(ns(view.step.unprofiled - exposed))}.`,
      code: loaderCode(
        { num_workers: plan.workers, persistent_workers: true, pin_memory: view.facts.hasGpuWork },
        null,
      ),
    },
    cost: 'code',
    risk: 'data',
  });
}

/** A log of phases shows that input is waited for. How it is loaded, only capture's manifest says. */
function fromPhases(view: LogView, captured: CapturedRank | undefined): RuleResult {
  const loader = captured?.loader;
  if ((loader?.numWorkers ?? 0) > 0) return silent('the loader already has workers');
  const fed = silentIfFed(view);
  if (fed) return fed;
  const exposed = view.time.idle_data;
  const text = `data_wait: ${formatMs(exposed)} per step (${percentOfStep(view, exposed)} of the step, over ${formatCount(view.facts.steps.count, 'step')})${whatItDoes(captured)}`;
  const evidence = [timeEvidence(view, exposed, text)];
  if (loader?.numWorkers !== 0)
    return found({
      id: 'input-wait',
      title: 'steps wait for input: look at num_workers first',
      confidence: 0.6,
      addresses: 'data',
      evidence,
      price: null,
      fix: {
        text: `If num_workers is 0, raise it. If there are workers, see whether they are CPU- or IO-bound (whyslow rules slow-workers). A trace tells which. At best, with no wait left, a step takes ${formatMs(ns(view.step.unprofiled - exposed))}.`,
        code: view.facts.hasGpuWork
          ? rule.info.fix.code
          : loaderCode({ num_workers: 2, persistent_workers: true }, null),
      },
    });
  const fetch = Math.max(exposed, fromMs(ms(loader.fetchMs ?? 0)));
  const plan = planWorkers(fetch, view.step.unprofiled - exposed, captured);
  return found({
    id: 'num-workers-zero',
    title: 'num_workers=0 loads every batch on the training thread',
    confidence: 0.95,
    addresses: 'data',
    evidence,
    price: priceFromLog(view, (level) => Math.max(view.step.unprofiled - exposed, plan.floor(level))),
    fix: fixOf(view, captured, plan),
    ...riskOf(plan, captured),
  });
}
