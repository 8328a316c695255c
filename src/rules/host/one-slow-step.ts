import { formatMs, ns, toMs } from '../../base/units.js';
import { recurring } from '../../facts/job-time.js';
import { about, use } from '../../remedies/remedies.js';
import { atSpan, evidence } from '../kit/evidence.js';
import { found, silent, type TraceRule } from '../kit/rule.js';

/** A phase that takes this part of the extra time, and comes again, is what the step was slow for. */
const MOST_OF_IT = 0.5;

export const rule: TraceRule = {
  reads: 'traces',
  unpriced: 'allowed',
  info: {
    id: 'one-slow-step',
    alias: 'W4',
    title: 'One step took far longer than the others',
    needs: 'trace',
    looksFor:
      'One step of six or more that takes over twice as long as the others, which are alike, while the GPU waits for the host. Or steps that launch far more work than the others outside backward and the optimizer.',
    why: 'Garbage collection, a checkpoint, a log line or another process may delay one step. One event in a short recording does not show how often it happens, so the step is left out of all other figures.',
    ...about('watch-run'),
    thresholds: [],
  },
  check(view, { job }) {
    const { oneOff } = view.facts;
    if (!oneOff) return silent('no single step stands out');
    const { index, ts, dur, usual, others, extraWork } = oneOff;
    const known = recurring(view.job).find((p) => p.ns / p.count >= MOST_OF_IT * (dur - usual));
    if (known) return silent(`step ${index} took ${formatMs(dur)}: the ${known.name} in it explains that`);
    const did =
      extraWork > 0
        ? `it launched ${extraWork} more kernels and copies outside backward and the optimizer, as an evaluation, a checkpoint or logging does`
        : `one of ${others + 1}`;
    const text = `step ${index} took ${formatMs(dur)}, the ${others} others ${formatMs(usual)}: ${did}; left out of all other figures`;
    return found({
      id: 'one-slow-step',
      title:
        extraWork > 0
          ? 'steps did other work too'
          : `one step of ${others + 1} took far longer than the others`,
      confidence: 0.6,
      addresses: 'host',
      evidence: [atSpan({ ts, dur, step: index }, evidence(view, text, toMs(ns(dur - usual)), 'ms'))],
      price: null,
      remedy: use('watch-run', { job }),
    });
  },
};
