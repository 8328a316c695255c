import { largest, mean } from '../../base/statistics.js';
import { formatMs, ns, share, toMs } from '../../base/units.js';
import type { RankView } from '../../diagnosis/ranks/rank-view.js';
import type { CapturedLoader } from '../../diagnosis/run-facts.js';
import { about, use } from '../../remedies/remedies.js';
import { type LoaderQueue, REFILLS, refills } from '../../traces/detail/loader-queue.js';
import { atSpan, evidence } from '../kit/evidence.js';
import { INPUT_WAIT, NO_WORKERS, silentIfFed } from '../kit/loader.js';
import { type AnyRule, found, type Level, type Levels, type Price, silent, threshold } from '../kit/rule.js';

/** Waits are bursts when the quiet steps wait less than this part of the worst one. */
const QUIET = 0.1;
const LEAST_STEPS = 4;
const LEAST_BURSTS = 2;
/** Restarts of the loader explain the waits if they take this part of them. */
const EPOCHS = 0.5;
/** However long the waits. */
const MOST_GAIN = 100;
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
    more: 'The default is 2 batches per worker, and none without workers. If the loader is too slow on average, a longer queue does not help: add workers (T4) or make them faster (T8).',
    ...about('loader-prefetch'),
    thresholds: [INPUT_WAIT, RATE_LIMITED],
  },
  check(view, run) {
    const { timePerStep, steps } = view.facts;
    const input = view.source === 'trace' ? view.facts.input : null;
    const loader = run.captured.get(view.rank)?.loader;
    if (input?.inWorkers === 0 || loader?.numWorkers === 0) return NO_WORKERS;
    const waits = timePerStep.map((t) => t.idle_data);
    if (waits.length < LEAST_STEPS) return silent('too few steps to recognize bursts');
    const fed = silentIfFed(view);
    if (fed) return fed;
    const worst = largest(waits);
    const waiting = waits.filter((w) => w > QUIET * worst).length;
    if (waiting > waits.length / 2) return silent('most steps wait, not every few');
    const keepsUp = keepUp(input?.queue ?? null, loader ?? null);
    const isSlow = view.time.idle_data > RATE_LIMITED.value * view.step.unprofiled;
    if (keepsUp === false || (keepsUp === null && isSlow))
      return silent('the loader is too slow on average: a longer queue does not help');
    const restarting = input ? input.restarts.reduce((sum, r) => sum + r.dur, 0) : 0;
    if (restarting > EPOCHS * waits.reduce((sum, w) => sum + w, 0))
      return silent('steps wait at the end of an epoch, not for slow batches');
    // A single wait may also end the stock that was loaded ahead while the profiler started.
    const starts = burstStarts(waits.map((w) => w > QUIET * worst));
    if (starts.length < LEAST_BURSTS) return silent('waits do not recur');
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
      // Workers that finish together look the same, and a deeper queue does not make them faster.
      price: keepsUp ? priceOfCycle(view, waits, starts) : null,
      remedy: use('loader-prefetch', { factor: Math.max(4, 2 * (loader?.prefetchFactor ?? 2)) }),
    });
  },
};

/** Whether the workers refill the queue while steps find their batches ready. Null: unknown. */
function keepUp(queue: LoaderQueue | null, loader: CapturedLoader | null): boolean | null {
  if (queue) return refills(queue);
  if (loader?.ready == null || loader.numWorkers === null) return null;
  // In a log: batches that are ready, for each worker.
  return loader.ready >= REFILLS * loader.numWorkers;
}

/** Indices of steps in which a wait begins. */
const burstStarts = (isWaiting: readonly boolean[]) =>
  [...isWaiting.keys()].filter((i) => isWaiting[i] && !isWaiting[i - 1]);

/** Over whole cycles, from burst to burst: a recording of a few steps may hold one burst more than its share. */
function priceOfCycle(view: RankView, waits: readonly number[], starts: readonly number[]): Price {
  const [from, to] = [starts[0]! + 1, starts.at(-1)! + 1];
  const period = mean(view.facts.steps.periods.slice(from, to));
  const waiting = Math.min(period, mean(waits.slice(from, to)));
  const gain = (level: Level) => period / Math.max(period - waiting * (1 - LEFT[level]), period / MOST_GAIN);
  return {
    speedup: { low: gain('low'), likely: gain('likely'), high: gain('high') },
    after: ns(view.step.unprofiled / gain('likely')),
    edit: null,
    floor: ns(0),
  };
}
