import { largest } from '../../base/statistics.js';
import { at, evidence, inMs, ms, percent, priceOf, silent } from '../kit/kit.js';
import type { AnyRule, Level } from '../kit/rule.js';

const EXPOSED = 0.05;
/** Waits are bursts when the quiet steps wait less than this part of the worst one. */
const QUIET = 0.1;
/** Above this share the loader is too slow on average, and a longer queue only delays the wait. */
const RATE_LIMITED = 0.5;

/** Waits that a deeper queue does not bridge: it holds a few batches, some gaps are longer. */
const LEFT: Readonly<Record<Level, number>> = { low: 0.6, likely: 0.1, high: 0 };

export const prefetch: AnyRule = {
  reads: 'traces and logs',
  info: {
    id: 'T7',
    title: 'Input comes in bursts: most batches are ready, every few steps one is not',
    needs: 'trace or events',
    looksFor:
      'Input waits on a minority of steps while the others find their batch ready, and the loader fast enough on average.',
    why: 'Workers finish together, or some samples are slow. A deeper queue bridges the gaps; it cannot raise the rate.',
    fix: { text: 'Let each worker prepare more batches ahead.', code: 'DataLoader(..., prefetch_factor=4)' },
    check: 'Nothing changes but memory: prefetch_factor x num_workers batches are held on the host.',
    cost: 'knob',
    risk: 'memory',
    thresholds: [
      { name: 'input wait', value: EXPOSED, unit: 'of the step', source: 'TensorBoard plugin, XProf: 5 %' },
      {
        name: 'average rate',
        value: RATE_LIMITED,
        unit: 'of the step waited at most',
        source: 'beyond it the loader is slower than the step, which prefetching cannot change',
      },
    ],
  },
  check(view) {
    const { timePerStep, steps } = view.facts;
    const input = view.source === 'trace' ? view.facts.input : null;
    if (input?.inWorkers === 0) return silent('no DataLoader with workers was seen');
    const waits = timePerStep.map((t) => t.idle_data);
    if (waits.length < 4) return silent('too few steps to tell bursts');
    const worst = largest(waits);
    const share = view.time.idle_data / view.step;
    if (share < EXPOSED) return silent(`input waits are ${percent(share)} of the step`);
    if (share > RATE_LIMITED) return silent('the loader is too slow on average: a deeper queue cannot help');
    const waiting = waits.filter((w) => w > QUIET * worst).length;
    if (waiting > waits.length / 2) return silent('most steps wait, not every few');
    const step = waits.indexOf(worst);
    return {
      findings: [
        {
          id: 'bursty-input',
          title: 'every few steps a batch is not ready, the others are',
          confidence: 0.6,
          addresses: 'data',
          evidence: [
            at(
              evidence(
                view,
                `${waiting} of ${waits.length} steps wait for input, up to ${ms(worst)}; the others do not`,
                inMs(worst),
                'ms',
              ),
              input?.longest?.ts ?? 0,
              input?.longest?.dur ?? worst,
              steps.indices[step] ?? null,
            ),
          ],
          price: priceOf(view, (plan, level) => {
            const left = LEFT[level];
            for (let n = 0; n < plan.nodes.length; n++) plan.nodes.data[n]! *= left;
          }),
        },
      ],
    };
  },
};
