import { largest } from '../../base/statistics.js';
import { formatCount, formatMs, fromMs, ms, ns, share } from '../../base/units.js';
import type { RankView, TraceView } from '../../diagnosis/ranks/rank-view.js';
import { about, use } from '../../remedies/remedies.js';
import { takeFromLongest } from '../../replay/edits.js';
import { atSpan, silentBelow, timeEvidence } from '../kit/evidence.js';
import { NO_WORKERS, type Restarts, restartsOf } from '../kit/loader.js';
import { priceOf, priceOfStep } from '../kit/price.js';
import {
  type AnyRule,
  found,
  type Levels,
  type RuleResult,
  silent,
  threshold,
  WITHIN_NOISE,
} from '../kit/rule.js';

/** Asking persistent workers for the next epoch takes a millisecond or two; starting processes takes tens. */
const RESTART = threshold('restart', ms(5), 'ms', 'zoo: 1.6 ms with persistent workers, 146–153 ms without');
const PERSISTENT_NS = 2e6;
const RESTARTS = threshold('restarts', share(0.02), 'of the step', WITHIN_NOISE);
/** Part of the restarts that is won back. */
const WON_BACK: Levels = { low: 0.7, likely: 1, high: 1.1 };

/** Of the longer wait for the first batch: workers that live on make it just as late, but do not import their modules first. */
const WAIT_WON_BACK: Levels = { low: 0, likely: 0.5, high: 1 };

export const rule: AnyRule = {
  reads: 'traces and logs',
  unpriced: 'allowed',
  info: {
    id: 'workers-restarted',
    alias: 'T5',
    title: 'Workers are started again and again',
    needs: 'trace, script, or what whyslow run records about the loader',
    looksFor:
      'A request that finds the loader exhausted, then a long time until the next iterator delivers: worker processes end and new ones are started. Part of the loss is outside __next__.',
    why: 'Forking workers and importing their modules takes tens to hundreds of milliseconds. With short epochs, or with a DataLoader for every client, task or evaluation, that happens many times per minute.',
    more: 'Needs num_workers above 0. It gains most with short epochs, or with a dataset that loads an index when it is created.',
    ...about('loader-persistent'),
    thresholds: [RESTART, RESTARTS],
  },
  check(view, run) {
    const captured = run.captured.get(view.rank);
    const counted = restartsOf(captured);
    if (counted)
      return (
        silentBelow(view, counted.starting, RESTARTS, 'restarts are') ??
        overTheJob(view, counted, captured!.loader!.batches)
      );
    return view.source === 'trace' ? inTrace(view) : silent('no start of workers was seen twice');
  },
};

/** From what capture counted over the whole job. */
function overTheJob(view: RankView, restarts: Restarts, batches: number | null): RuleResult {
  const { count, each, first, starting, waiting, anew } = restarts;
  const time = ns(Math.min(starting + waiting, view.step.unprofiled));
  const often = batches === null ? '' : ` for ${formatCount(batches, 'batch', 'batches')} each`;
  const text = `workers were started ${count} times${often}: ${formatMs(each)} to start and end them, and the first batch takes ${formatMs(first)} longer than others, ${formatMs(time)} per step together`;
  return found({
    id: 'workers-restarted',
    title: anew
      ? 'a new DataLoader starts new workers every few steps'
      : 'the DataLoader restarts its workers every epoch',
    confidence: 0.93,
    addresses: 'data',
    evidence: [timeEvidence(view, time, text)],
    price: priceOfStep(
      view,
      (level) => view.step.unprofiled - Math.min(time, starting + waiting * WAIT_WON_BACK[level]),
    ),
    remedy: use('loader-persistent', anew ? { anew: { perBatch: formatMs(starting) } } : {}),
  });
}

function inTrace(view: TraceView): RuleResult {
  const { input, steps } = view.facts;
  if (input.inWorkers === 0) return NO_WORKERS;
  const slow = input.restarts.filter((r) => r.dur >= fromMs(RESTART.value));
  if (slow.length === 0)
    return silent(
      input.restarts.length > 0
        ? 'epochs follow each other without a gap'
        : 'no epoch ended in the recorded steps',
    );
  const lost = slow.reduce((sum, r) => sum + Math.max(0, r.dur - PERSISTENT_NS), 0);
  const perStep = ns(lost / steps.count);
  const small = silentBelow(view, perStep, RESTARTS, 'restarts are');
  if (small) return small;
  const longest = slow.reduce((a, b) => (a.dur >= b.dur ? a : b));
  const text = `${formatCount(slow.length, 'restart')} in ${steps.count} steps, ${formatMs(ns(longest.dur))} the longest: ${formatMs(perStep)} per step between an exhausted loader and the next request`;
  return found({
    id: 'workers-restarted',
    title: 'the DataLoader restarts its workers every epoch',
    confidence: 0.93,
    addresses: 'data',
    evidence: [atSpan(longest, timeEvidence(view, perStep, text))],
    price: priceOf(view, (plan, level) => {
      const part = WON_BACK[level];
      takeFromLongest(plan.nodes.data, lost * part, largest(slow.map((r) => r.dur)) * part);
    }),
  });
}
