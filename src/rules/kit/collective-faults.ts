import { median } from '../../base/statistics.js';
import { bytes, type Ns, ns, share } from '../../base/units.js';
import type { RankView } from '../../diagnosis/ranks/rank-view.js';
import { collectivesOf, exposedCommunication } from './collectives.js';
import { threshold } from './rule.js';

/** What exactly is wrong with exposed collectives, the most specific fault first. */

export const SMALL = threshold(
  'small all_reduce, median',
  bytes(1e6),
  'bytes',
  'below a megabyte it is all latency: NCCL reaches half of its bandwidth at a few (nccl-tests)',
);
export const MANY = threshold(
  'small all_reduces',
  30,
  'a step',
  'not measured: at 30 µs each, fewer cost less than a millisecond',
);
export const GATHERS = threshold(
  'all_gather',
  share(0.5),
  'of exposed communication',
  'then gathering parameters is most of it',
);

export const STAGES = threshold(
  'sends and receives',
  share(0.5),
  'of exposed communication',
  'then waiting for a neighbor is most of it',
);

/** Stages of a pipeline exchange activations and gradients: exposed time of that a step. */
export function exchangedByStages(view: RankView): Ns | null {
  const all = exposedCommunication(view);
  const { exposed } = collectivesOf(view, (kind) => kind === 'send' || kind === 'recv');
  // Recorded steps may be a little longer than the average one.
  return exposed > STAGES.value * all ? ns(Math.min(exposed, all)) : null;
}

/** Gradients are reduced in many small pieces: how many a step, and their median size. */
export function manySmallReduces(view: RankView): { count: number; bytes: number } | null {
  const reduces = collectivesOf(view, (kind, size) => kind === 'all_reduce' && size > 0);
  const count = Math.round(reduces.count);
  const typical = median(reduces.bytes);
  return count >= MANY.value && typical < SMALL.value ? { count, bytes: typical } : null;
}

/** Parameters are gathered when they are needed: exposed time of that a step. */
export function gathersOnDemand(view: RankView): Ns | null {
  const { exposed } = collectivesOf(view, (kind) => kind === 'all_gather');
  return exposed > GATHERS.value * exposedCommunication(view) ? exposed : null;
}
