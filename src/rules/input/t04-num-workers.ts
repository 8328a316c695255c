import { mean } from '../../base/statistics.js';
import type { LogView } from '../../diagnosis/ranks/rank-view.js';
import { dropInputWaits } from '../../replay/edits.js';
import { at, evidence, inMs, ms, percent, priceOf, silent } from '../kit/kit.js';
import type { AnyRule, Level, RuleResult } from '../kit/rule.js';

/** Share of the step that waits for input before it is worth naming. */
const EXPOSED = 0.05;
/** Workers: what a small node surely has, what most have, what large ones have. */
const WORKERS: Readonly<Record<Level, number>> = { low: 4, likely: 8, high: 16 };
/** Batches come through shared memory: a tenth more than the work itself (zoo: 2–18 %). */
const HANDOVER = 1.1;

export const numWorkers: AnyRule = {
  reads: 'traces and logs',
  info: {
    id: 'T4',
    title: 'Batches are made on the training thread (num_workers=0)',
    needs: 'trace, events, script or config',
    looksFor:
      'GPU idle during DataLoader.__next__ of a _SingleProcessDataLoaderIter: decoding, augmenting and collating happen between the steps.',
    why: 'While the main process prepares a batch it launches nothing, so the GPU waits. Worker processes prepare the next batches during the step.',
    fix: {
      text: 'Load in worker processes. Start at the number of cores minus one, bounded by memory per worker; persistent_workers keeps them between epochs.',
      code: 'DataLoader(..., num_workers=8, persistent_workers=True, pin_memory=True)',
    },
    check:
      'The same samples must arrive: with augmentation seed each worker (worker_init_fn), with an IterableDataset split by worker id, or every worker yields everything. Pin worker count and batch size across runs that are compared.',
    cost: 'knob',
    risk: 'memory',
    thresholds: [
      { name: 'input wait', value: EXPOSED, unit: 'of the step', source: 'TensorBoard plugin, XProf: 5 %' },
      {
        name: 'workers priced',
        value: WORKERS.likely,
        unit: 'processes',
        source: 'low 4, high 16: the trace does not tell the cores',
      },
    ],
  },
  check(view) {
    if (view.source === 'log') return fromPhases(view);
    const { input, steps } = view.facts;
    if (input.inMain === 0 && input.inferred === 0) {
      return silent(
        input.inWorkers > 0
          ? 'the loader already has workers'
          : 'no DataLoader was seen on the training thread',
      );
    }
    const exposed = view.time.idle_data;
    if (exposed < EXPOSED * view.step)
      return silent(`input waits are ${percent(exposed / view.step)} of the step`);
    const fetch = mean(input.waitPerStep);
    const price = priceOf(view, dropInputWaits, (level) => (fetch * HANDOVER) / WORKERS[level]);
    const idle = view.facts.hasGpuWork ? `${ms(exposed)} of it with the GPU idle` : 'while nothing computes';
    const share = `${percent(exposed / view.step)} of ${steps.count} ${steps.count === 1 ? 'step' : 'steps'}`;
    const marked = input.inMain > 0;
    const where = marked
      ? '_SingleProcessDataLoaderIter.__next__'
      : 'from the start of a step to the copy of its batch';
    const seen = evidence(
      view,
      `${where}: ${ms(fetch)} a step on the training thread, ${idle} (${share})`,
      inMs(exposed),
      'ms/step',
    );
    return {
      findings: [
        {
          id: marked ? 'num-workers-zero' : 'input-on-training-thread',
          title: marked
            ? 'num_workers=0 loads every batch on the training thread'
            : 'each batch is made on the training thread before the step',
          // Without a loader's span the beginning of a step is taken for it.
          confidence: marked ? 0.97 : 0.65,
          addresses: 'data',
          evidence: [input.longest ? at(seen, input.longest.ts, input.longest.dur) : seen],
          price,
        },
      ],
    };
  },
};

/** A log of phases shows that input is waited for, not how it is loaded. */
function fromPhases(view: LogView): RuleResult {
  const exposed = view.time.idle_data;
  if (exposed < EXPOSED * view.step)
    return silent(`input waits are ${percent(exposed / view.step)} of the step`);
  return {
    findings: [
      {
        id: 'input-wait',
        title: 'steps wait for input: look at num_workers first',
        confidence: 0.6,
        addresses: 'data',
        evidence: [
          evidence(
            view,
            `data_wait: ${ms(exposed)} a step (${percent(exposed / view.step)} of ${view.facts.steps.count} steps)`,
            inMs(exposed),
            'ms/step',
          ),
        ],
        price: null,
        fix: {
          text: `With num_workers=0 raise it; with workers see whether they are CPU- or IO-bound (whyslow rules T8). A trace tells which. If no step waited for input, it would take ${ms(view.step - exposed)}.`,
          code: numWorkers.info.fix.code,
        },
      },
    ],
  };
}
