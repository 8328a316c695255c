import { largest } from '../../base/statistics.js';
import { formatMs, ns, share, toMs } from '../../base/units.js';
import { atSpan, evidence } from '../kit/evidence.js';
import { INPUT_WAIT, NO_WORKERS, silentIfFed } from '../kit/input-wait.js';
import { priceOf } from '../kit/price.js';
import { type AnyRule, found, type Levels, silent, threshold } from '../kit/rule.js';

/** Waits are bursts when the quiet steps wait less than this part of the worst one. */
const QUIET = 0.1;
const LEAST_STEPS = 4;
const RATE_LIMITED = threshold(
  'average rate',
  share(0.5),
  'of the step waited at most',
  'beyond it the loader is slower than the step, which prefetching cannot change',
);
/** Waits that a deeper queue does not bridge: it holds a few batches, some gaps are longer. */
const LEFT: Levels = { low: 0.6, likely: 0.1, high: 0 };

export const rule: AnyRule = {
  reads: 'traces and logs',
  unpriced: 'allowed',
  smallGain: 'allowed',
  info: {
    id: 'bursty-input',
    alias: 'T7',
    title: 'Input comes in bursts: most batches are ready, every few steps one is not',
    needs: 'trace or events',
    looksFor:
      'Input waits in a minority of steps, while the others find their batch ready and the loader is fast enough on average.',
    why: 'Workers finish together, or some samples are slow. A deeper prefetch queue bridges the gaps; it cannot raise the rate.',
    fix: { text: 'Let each worker prepare more batches ahead.', code: 'DataLoader(..., prefetch_factor=4)' },
    check: 'Only memory changes: prefetch_factor x num_workers batches are held on the host.',
    cost: 'knob',
    risk: 'memory',
    thresholds: [INPUT_WAIT, RATE_LIMITED],
  },
  check(view) {
    const { timePerStep, steps } = view.facts;
    const input = view.source === 'trace' ? view.facts.input : null;
    if (input?.inWorkers === 0) return NO_WORKERS;
    const waits = timePerStep.map((t) => t.idle_data);
    if (waits.length < LEAST_STEPS) return silent('too few steps to recognise bursts');
    const fed = silentIfFed(view);
    if (fed) return fed;
    if (view.time.idle_data > RATE_LIMITED.value * view.step)
      return silent('the loader is too slow on average: a deeper queue cannot help');
    const worst = largest(waits);
    const waiting = waits.filter((w) => w > QUIET * worst).length;
    if (waiting > waits.length / 2) return silent('most steps wait, not every few');
    const step = steps.indices[waits.indexOf(worst)]!;
    const text = `${waiting} of ${waits.length} steps wait for input, up to ${formatMs(ns(worst))}; the others do not`;
    return found({
      id: 'bursty-input',
      title: 'every few steps a batch is not ready, the others are',
      confidence: 0.6,
      addresses: 'data',
      evidence: [
        atSpan(
          { ts: input?.longest?.ts ?? 0, dur: input?.longest?.dur ?? worst, step },
          evidence(view, text, toMs(ns(worst)), 'ms'),
        ),
      ],
      price: priceOf(view, ({ nodes }, level) => {
        for (let n = 0; n < nodes.length; n++) nodes.data[n]! *= LEFT[level];
      }),
    });
  },
};
