import { median } from '../../base/statistics.js';
import { bytes, formatMs, formatPercent, fromMs, ms, type Ns, ns, share } from '../../base/units.js';
import type { RankView } from '../../diagnosis/ranks/rank-view.js';
import type { RunFacts } from '../../diagnosis/run-facts.js';
import { COLLECTIVE_KINDS, type CollectiveKind } from '../../facts/rank-collectives.js';
import { percentOfStep, silentBelow, timeEvidence } from './evidence.js';
import type { Evidence } from './finding.js';
import { type Levels, type Silent, threshold } from './rule.js';

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

/**
 * The same as capture counts it, for backends that do not record sizes: how many collectives per step are short, and their time.
 * Null: few are, or nobody counted.
 */
export function manyShortOnes(
  view: RankView,
  { captured }: RunFacts,
): { readonly count: number; readonly time: Ns } | null {
  const { steps = 1, short = 0, small = 0, shortMs = 0 } = captured.get(view.rank)?.smallCollectives ?? {};
  // Gradients: not single numbers alone.
  if (short < MANY.value * steps || short === small) return null;
  return { count: short / steps, time: ns(Math.min(fromMs(ms(shortMs)) / steps, view.step.unprofiled)) };
}

/** What joining n collectives into one leaves of their time. */
export const leftOfJoined = (count: number): Levels => ({
  low: 0.4,
  likely: Math.max(0.15, 1 / count),
  high: 1 / count,
});

/** Parameters are gathered when they are needed: exposed time of that a step. */
export function gathersOnDemand(view: RankView): Ns | null {
  const { exposed } = collectivesOf(view, (kind) => kind === 'all_gather');
  return exposed > GATHERS.value * exposedCommunication(view) ? exposed : null;
}

export interface CollectiveTime {
  /** A step. */
  readonly count: number;
  /** A step, as far as neither computing nor an earlier collective hides them. */
  readonly exposed: Ns;
  readonly bytes: readonly number[];
}

/** Collectives that pass, by kind and size. The size is NaN where it was not recorded. */
export function collectivesOf(
  { facts: { collectives } }: RankView,
  test: (kind: CollectiveKind, bytes: number) => boolean,
): CollectiveTime {
  const steps = collectives?.steps.length ?? 0;
  if (!collectives || steps === 0) return { count: 0, exposed: ns(0), bytes: [] };
  const bytes: number[] = [];
  let exposed = 0;
  for (let i = 0; i < collectives.length; i++) {
    if (!test(COLLECTIVE_KINDS[collectives.kind[i]!]!, collectives.bytes[i]!)) continue;
    exposed += collectives.exposed[i]!;
    bytes.push(collectives.bytes[i]!);
  }
  return { count: bytes.length / steps, exposed: ns(exposed / steps), bytes };
}

export const EXPOSED = threshold(
  'exposed communication',
  share(0.1),
  'of the step',
  'TensorBoard plugin: communication 10%',
);

/** Time a step in which communication runs or is waited for and nothing computes. */
export const exposedCommunication = ({ time }: RankView): Ns =>
  ns(time.comms_transfer + time.comms_wait + time.idle_comms);

export const silentIfShort = (view: RankView): Silent | undefined =>
  silentBelow(view, exposedCommunication(view), EXPOSED, 'exposed communication is');

export const silentIfHidden = (view: RankView, { across }: RunFacts): Silent | undefined =>
  silentIfShort(view) ??
  (across && across.late.length > 0
    ? silentBelow(view, transferTime(view), EXPOSED, 'all but waiting for a late rank is')
    : undefined);

/** Communication that overlap can hide: waiting for a late rank cannot be hidden. */
const transferTime = ({ time }: RankView): Ns => ns(time.comms_transfer + time.idle_comms);

const NOTHING = formatPercent(share(0));

export function exposedEvidence(view: RankView): Evidence {
  const exposed = exposedCommunication(view);
  const { comms_wait } = view.time;
  const overlap = view.source === 'trace' ? (view.facts.gpu?.commOverlap ?? null) : null;
  const part = formatPercent(share(overlap ?? 0));
  const hidden =
    overlap === null ? '' : `, computation hides ${part === NOTHING ? 'no' : `${part} of`} communication`;
  const waiting = comms_wait > 0 ? `, ${formatMs(comms_wait)} of it waiting for other ranks` : '';
  return timeEvidence(
    view,
    exposed,
    `communication is exposed for ${formatMs(exposed)} per step (${percentOfStep(view, exposed)})${waiting}${hidden}`,
  );
}

/** ` At best, with full overlap, …`: what hiding all communication would gain. */
export function overlapGain(view: RankView, { across }: RunFacts): string {
  const replayed = across?.overlap ?? null;
  const most = replayed === null ? `up to ${formatMs(transferTime(view))}` : formatMs(replayed);
  return ` At best, with full overlap, the step gets ${most} shorter.`;
}
