import { mean } from '../../base/statistics.js';
import { formatCount, formatMs, ns } from '../../base/units.js';
import type { LogView } from '../../diagnosis/ranks/rank-view.js';
import { dropInputWaits } from '../../replay/edits.js';
import { atInputWait, percentOfStep, timeEvidence } from '../kit/evidence.js';
import { INPUT_WAIT, silentIfFed } from '../kit/input-wait.js';
import { priceOf } from '../kit/price.js';
import { type AnyRule, found, type Levels, type RuleResult, silent, threshold } from '../kit/rule.js';

/** What a small node surely has, what most have, what large ones have. */
const WORKERS: Levels = { low: 4, likely: 8, high: 16 };
/** Batches come through shared memory, which takes a tenth more than the work itself (zoo: 2–18 %). */
const HANDOVER = 1.1;

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
      'GPU idle during DataLoader.__next__ of a _SingleProcessDataLoaderIter: decoding, augmenting and collating happen between the steps.',
    why: 'While the main process prepares a batch it launches nothing, so the GPU waits. Worker processes prepare the next batches during the step.',
    fix: {
      text: 'Load in worker processes. Start at the number of cores minus one, bounded by memory per worker; persistent_workers keeps them between epochs.',
      code: `DataLoader(..., num_workers=${WORKERS.likely}, persistent_workers=True, pin_memory=True)`,
    },
    check:
      'The same samples must arrive. With augmentation, seed each worker (worker_init_fn). With an IterableDataset, split by worker id, or every worker yields everything. Keep worker count and batch size the same across runs that you compare.',
    cost: 'knob',
    risk: 'memory',
    thresholds: [
      INPUT_WAIT,
      threshold(
        'workers priced',
        WORKERS.likely,
        'processes',
        `low ${WORKERS.low}, high ${WORKERS.high}: the trace does not say how many cores there are`,
      ),
    ],
  },
  check(view) {
    if (view.source === 'log') return fromPhases(view);
    const { input, steps, hasGpuWork } = view.facts;
    if (input.inMain === 0 && input.inferred === 0)
      return silent(
        input.inWorkers > 0 ? 'the loader already has workers' : 'no DataLoader found on the training thread',
      );
    const fed = silentIfFed(view);
    if (fed) return fed;
    const exposed = view.time.idle_data;
    const fetch = mean(input.waitPerStep);
    const marked = input.inMain > 0;
    const where = marked
      ? '_SingleProcessDataLoaderIter.__next__'
      : 'from the start of a step to the copy of its batch';
    const idle = hasGpuWork ? `${formatMs(exposed)} of it with the GPU idle` : 'while nothing computes';
    const text = `${where}: ${formatMs(ns(fetch))} a step on the training thread, ${idle} (${percentOfStep(view, exposed)} of ${formatCount(steps.count, 'step')})`;
    return found({
      id: marked ? 'num-workers-zero' : 'input-on-training-thread',
      title: marked
        ? 'num_workers=0 loads every batch on the training thread'
        : 'each batch is made on the training thread before the step',
      // Without a loader's span, the beginning of a step is taken for it.
      confidence: marked ? 0.97 : 0.65,
      addresses: 'data',
      evidence: [atInputWait(view, timeEvidence(view, exposed, text))],
      price: priceOf(view, dropInputWaits, (level) => (fetch * HANDOVER) / WORKERS[level]),
    });
  },
};

/** A log of phases shows that input is waited for, not how it is loaded. */
function fromPhases(view: LogView): RuleResult {
  const fed = silentIfFed(view);
  if (fed) return fed;
  const exposed = view.time.idle_data;
  const text = `data_wait: ${formatMs(exposed)} a step (${percentOfStep(view, exposed)} of ${view.facts.steps.count} steps)`;
  return found({
    id: 'input-wait',
    title: 'steps wait for input: look at num_workers first',
    confidence: 0.6,
    addresses: 'data',
    evidence: [timeEvidence(view, exposed, text)],
    price: null,
    fix: {
      text: `If num_workers is 0, raise it. If there are workers, see whether they are CPU- or IO-bound (whyslow rules slow-workers). A trace tells which. If no step waited for input, it would take ${formatMs(ns(view.step - exposed))}.`,
      code: rule.info.fix.code,
    },
  });
}
