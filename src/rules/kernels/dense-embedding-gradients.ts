import { smallest } from '../../base/statistics.js';
import { formatMs, formatPercent, ns, share, toUs, us } from '../../base/units.js';
import type { TraceView } from '../../diagnosis/ranks/rank-view.js';
import { about } from '../../remedies/remedies.js';
import { addHostPerStep } from '../../replay/edits.js';
import type { OperatorTotal } from '../../traces/detail/operators.js';
import { Role } from '../../traces/detail/roles.js';
import { atKernel, percentOfStep, silentBelow, timeEvidence } from '../kit/evidence.js';
import { hostTime, operatorsOf } from '../kit/host.js';
import { optimizerOf } from '../kit/optimizer.js';
import { priceOf, priceOfStep } from '../kit/price.js';
import {
  found,
  type Level,
  type Levels,
  type RuleResult,
  silent,
  type TraceRule,
  threshold,
  WITHIN_NOISE,
} from '../kit/rule.js';
import { editWork, has, type Piece, piecesOf, REMOVED } from '../kit/work.js';

/**
 * The kernel that fills a dense gradient with zeros shows what the gradient costs: it writes each value of the table once, as fast
 * as memory allows. So it is the measure of the table, without recorded shapes.
 */
const TABLE = threshold(
  'the table in backward and optimizer, at least',
  share(0.1),
  'of the step',
  WITHIN_NOISE,
);
/** Shorter fills may stay in the cache, and then say little about memory. */
const LEAST_FILL = threshold('zero fill of the table', us(20), 'µs', '80 MB on an H200, whose cache has 50');

/**
 * Passes over the table that an optimizer cannot do without: weights, gradient and its state are read, weights and state
 * written. Zoo `embeddings_dense`: fused AdamW takes 11.4 times as long as the fill, because it reaches less of the bandwidth.
 */
const PASSES_OF_ADAM: Levels = { low: 7, likely: 7, high: 11 };
const PASSES_OF_OTHERS: Levels = { low: 3, likely: 3, high: 5 };
/** GPU time of SparseAdam for each ns in which rows are looked up, in addition to sorting them. Zoo `embeddings_sparse`, the only one: 6. */
const SPARSE_UPDATE: Levels = { low: 12, likely: 6, high: 4 };
/** Host time that it adds for each table. The same pair: 1.4 ms profiled; about half remains without the profiler. ns. */
const SPARSE_HOST: Levels = { low: 1_500_000, likely: 750_000, high: 400_000 };
/** A sum of two gradients of the table reads both and writes one. */
const PASSES_OF_A_SUM = 2;

const isBackward = ({ roles }: Piece) => has(roles, Role.backward);
const isEmbedding = ({ roles }: Piece) => has(roles, Role.embedding);
const inOptimizer = (roles: number) => has(roles, Role.optimizer);

export const rule: TraceRule = {
  reads: 'traces',
  unpriced: 'allowed',
  info: {
    id: 'dense-embedding-gradients',
    alias: null,
    title: 'The optimizer walks a whole embedding table for a few rows',
    needs: 'trace',
    looksFor:
      'A dense gradient of an embedding table whose zero fill is long, an optimizer that walks it, and few rows looked up.',
    why: 'An embedding has a dense gradient by default: as large as the table, and zero except for the rows of the batch. Filling it and updating every row, with the optimizer’s state, moves many times what the batch needs.',
    ...about('sparse-embeddings'),
    thresholds: [TABLE, LEAST_FILL],
  },
  check(view) {
    if (!view.facts.hasGpuWork) return onHost(view);
    const fills = piecesOf(view, (p) => isEmbedding(p) && isBackward(p) && p.kernel.class === 'fill');
    const fill = longest(fills.list);
    if (toUs(ns(fill)) < LEAST_FILL.value) return silent('no large embedding table gets a dense gradient');
    if (view.facts.collectives) return silent('ranks communicate: NCCL does not reduce sparse gradients');
    const optimizer = optimizerOf(view).gpu;
    const passes = isAdam(view) ? PASSES_OF_ADAM : PASSES_OF_OTHERS;
    const table = ns(fill + smallest([optimizer, passes.low * fill]));
    const small = silentBelow(view, table, TABLE, 'the embedding table takes at least');
    if (small) return small;
    const sums = piecesOf(view, (p) => isBackward(p) && /CUDAFunctor_add/.test(p.kernel.name.slice(0, 400)));
    if (longest(sums.list) > PASSES_OF_A_SUM * fill)
      return silent('the gradient of the table is added to another one, as of an output layer: it is dense');
    const lookups = piecesOf(view, (p) => isEmbedding(p) && !isBackward(p)).ns;
    const isTable = (p: Piece) => p.ns > fill / 2;
    const tables = fills.list.filter(isTable).length / (view.facts.detail?.steps ?? 1);
    // A look-up reads and writes each row, and more slowly than a fill.
    const rows = share(Math.min(1, lookups / (2 * fill * tables)));
    const text = `an embedding table gets a dense gradient although a batch looks up at most ${formatPercent(rows)} of it: filling it takes ${formatMs(ns(fill))}, updating all rows at least ${formatMs(ns(table - fill))} (together ${percentOfStep(view, table)} of the step)`;
    return found({
      id: 'dense-embedding-gradients',
      title: 'the optimizer walks a whole embedding table for a few rows',
      confidence: 0.8,
      addresses: 'gpu',
      evidence: [atKernel(fills.list.find((p) => p.ns === fill)?.kernel, timeEvidence(view, table, text))],
      price: priceOf(view, (plan, level) => {
        editWork(
          view,
          plan,
          (k, roles) => k.class === 'fill' && has(roles, Role.embedding) && has(roles, Role.backward),
          (piece) => (isTable(piece) ? REMOVED : piece.ns),
        );
        const left = Math.max(0, optimizer - passes[level] * fill) + SPARSE_UPDATE[level] * lookups;
        editWork(
          view,
          plan,
          (_, roles) => inOptimizer(roles),
          (piece) => piece.ns * (left / optimizer),
        );
        addHostPerStep(plan, (n) => inOptimizer(plan.nodes.roles[n]!), SPARSE_HOST[level] * tables);
      }),
    });
  },
};

/** Adding the gradients of the rows takes about as long as looking them up, and sorting them more. */
const PASSES_OF_ROWS = 4;

/** On a CPU the backward operator shows the fill: it takes far longer than looking the rows up. */
function onHost(view: TraceView): RuleResult {
  const named = (name: string) => hostTime(view, (o) => o.name === `aten::${name}`);
  const [backward, lookups] = [named('embedding_dense_backward'), named('embedding')];
  const fill = backward.ns - PASSES_OF_ROWS * lookups.ns;
  // Without the profiler all of it is a little shorter.
  const part = Math.min(1, view.step.unprofiled / view.step.recorded);
  if (fill <= 0 || view.facts.collectives) return silent('no large embedding table gets a dense gradient');
  const sums = operatorsOf(view).filter((o) => /^aten::add_?$/.test(o.name) && has(o.roles, Role.backward));
  if (sums.some((o) => o.longest > fill / 2))
    return silent('the gradient of the table is added to another one, as of an output layer: it is dense');
  const optimizer = hostTime(view, (o) => o.name.startsWith('Optimizer.step#')).ns;
  const passes = isAdam(view) ? PASSES_OF_ADAM : PASSES_OF_OTHERS;
  const walked = (level: Level) =>
    Math.min(
      optimizer,
      Math.max(PASSES_ON_HOST[level] * passes.low * fill, OF_LARGEST[level] * largestPart(view) * optimizer),
    );
  const saved = (level: Level) => part * (fill + walked(level));
  const table = ns(saved('low'));
  const small = silentBelow(view, table, TABLE, 'the embedding table takes at least');
  if (small) return small;
  const text = `an embedding table gets a dense gradient: its backward takes ${formatMs(backward.ns)}, looking the rows up ${formatMs(lookups.ns)}; the optimizer then updates all rows (together at least ${percentOfStep(view, table)} of the step)`;
  return found({
    id: 'dense-embedding-gradients',
    title: 'the optimizer walks a whole embedding table for a few rows',
    confidence: 0.8,
    addresses: 'gpu',
    evidence: [timeEvidence(view, table, text)],
    price: priceOfStep(view, (level) => view.step.unprofiled - saved(level)),
  });
}

/** New memory is slow to fill for the first time, so the fill of a gradient may take as long as several passes over the weights. */
const PASSES_ON_HOST: Levels = { low: 0.3, likely: 0.8, high: 1 };

/** How much of the optimizer’s time goes to the largest parameter: a table whose gradient takes so long to fill is that. */
const OF_LARGEST: Levels = { low: 0, likely: 0.9, high: 1 };

/** The optimizer calls its operators for one parameter after the other, so the longest call shows it. */
function largestPart(view: TraceView): number {
  const steps = view.facts.detail?.steps ?? 1;
  const ofAll = operatorsOf(view).filter((o) => inOptimizer(o.roles) && /^aten::\w+_?$/.test(o.name));
  const main = ofAll.reduce<OperatorTotal | null>((a, o) => (a && a.self >= o.self ? a : o), null);
  return main && main.self > 0 ? Math.min(1, (main.longestSelf * steps) / main.self) : 0;
}

const longest = (pieces: readonly Piece[]): number => pieces.reduce((most, p) => Math.max(most, p.ns), 0);

const isAdam = (view: TraceView) =>
  operatorsOf(view).some((o) => /^Optimizer\.step#\w{0,40}Adam/.test(o.name));
