import { about, use } from '../../remedies/remedies.js';
import { takeFromLongest } from '../../replay/edits.js';
import { PAUSE, PAUSES, pausesOf } from '../kit/pauses.js';
import { isWorthwhile, priceOf } from '../kit/price.js';
import { found, silent, type TraceRule } from '../kit/rule.js';
import { priceWithoutReads } from '../kit/waits.js';

/** Times of two clocks that agree this well are of the same waits. */
const SAME = 1.1;

export const rule: TraceRule = {
  reads: 'traces',
  recurs: true,
  lines: /gc\.|collect\(|sleep|save|empty_cache|log|open\(|write/,
  unpriced: 'allowed',
  info: {
    id: 'host-pause',
    alias: 'W4',
    title: 'The training thread pauses: garbage collection, logging, file writes',
    needs: 'trace',
    looksFor: 'Gaps of several milliseconds in which the training threads make no PyTorch call.',
    why: 'Python’s garbage collector walks all objects; logging and file writes block. Nothing is launched meanwhile.',
    ...about('find-pause'),
    thresholds: [PAUSE, PAUSES],
  },
  check(view, run) {
    const pauses = pausesOf(view);
    if ('silent' in pauses) return pauses;
    const cpu = run.captured.get(view.rank)?.cpu;
    if (pauses.perStep <= (cpu?.threadQueued ?? 0) * view.facts.steps.recorded)
      return silent('the training thread waits for a core as long as it pauses: cpu-contention covers it');
    if (view.inputLine !== null && pauses.perStep <= SAME * view.time.idle_data)
      return silent('the pauses are waits for input');
    if (pauses.copied === 'checkpoint') return silent('the pauses are a checkpoint being written');
    if (pauses.copied === 'results' && isWorthwhile(priceWithoutReads(view)))
      return silent('the job works on what it copies to the host: host-sync covers it');
    return found({
      id: 'host-pause',
      title: 'the training thread pauses outside PyTorch',
      confidence: 0.6,
      addresses: 'host',
      evidence: [pauses.evidence],
      remedy: use('find-pause', { collections: view.job?.phases.some((p) => p.name === 'gc') ?? false }),
      // One step does not show that others pause too.
      price:
        pauses.once || view.facts.steps.count < 2
          ? null
          : priceOf(view, ({ nodes, steps }) =>
              takeFromLongest(nodes.hostWork, pauses.perStep * steps.length, pauses.longest.dur),
            ),
    });
  },
};
