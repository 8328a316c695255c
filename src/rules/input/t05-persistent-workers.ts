import { takeFromLongest } from '../../replay/edits.js';
import { at, evidence, inMs, ms, percent, priceOf, silent, worthwhile } from '../kit/kit.js';
import type { TraceRule } from '../kit/rule.js';

/** Asking persistent workers for the next epoch takes a millisecond or two; starting processes takes tens. */
const RESTART_NS = 5e6;
const PERSISTENT_NS = 2e6;
const EXPOSED = 0.02;

export const persistentWorkers: TraceRule = {
  reads: 'traces',
  info: {
    id: 'T5',
    title: 'Workers are started again at every epoch',
    needs: 'trace or script',
    looksFor:
      'A request that finds the loader exhausted, then a long time until the next iterator is asked: worker processes end and new ones are forked. A part of the loss lies outside __next__.',
    why: 'Forking workers and importing their modules takes tens to hundreds of milliseconds, with short epochs many times a minute.',
    fix: {
      text: 'Keep the workers between epochs.',
      code: 'DataLoader(..., num_workers=N, persistent_workers=True)',
    },
    check:
      'Datasets that change state in __init__ or per epoch now keep it: reseed in set_epoch, not in the constructor.',
    cost: 'knob',
    risk: 'memory',
    thresholds: [
      {
        name: 'restart',
        value: RESTART_NS / 1e6,
        unit: 'ms',
        source: 'zoo: 1.6 ms with persistent workers, 146–153 ms without',
      },
      { name: 'restarts', value: EXPOSED, unit: 'of the step', source: 'below it the gain is within noise' },
    ],
  },
  check(view) {
    const { input, steps } = view.facts;
    if (input.inWorkers === 0) return silent('no DataLoader with workers was seen');
    const slow = input.restarts.filter((r) => r.dur >= RESTART_NS);
    if (slow.length === 0)
      return silent(
        input.restarts.length > 0 ? 'epochs follow each other at once' : 'no epoch ended in the window',
      );
    const lost = slow.reduce((ns, r) => ns + Math.max(0, r.dur - PERSISTENT_NS), 0);
    const perStep = lost / steps.count;
    if (perStep < EXPOSED * view.step)
      return silent(`restarts are ${percent(perStep / view.step)} of the step`);
    const price = priceOf(view, (plan, level) => {
      const saved = { low: 0.7, likely: 1, high: 1.1 }[level];
      takeFromLongest(plan.nodes.data, lost * saved, Math.max(...slow.map((r) => r.dur)) * saved);
    });
    if (price && !worthwhile(price)) return silent('the GPU had other work during the restarts');
    const longest = slow.reduce((a, b) => (a.dur >= b.dur ? a : b));
    return {
      findings: [
        {
          id: 'workers-restarted',
          title: 'the DataLoader starts its workers again every epoch',
          confidence: 0.93,
          addresses: 'data',
          evidence: [
            at(
              evidence(
                view,
                `${slow.length} restart${slow.length > 1 ? 's' : ''} in ${steps.count} steps, ${ms(longest.dur)} the longest: ${ms(perStep)} a step between an exhausted loader and the next request`,
                inMs(perStep),
                'ms/step',
              ),
              longest.ts,
              longest.dur,
            ),
          ],
          price,
        },
      ],
    };
  },
};
