import { formatMs, formatPercent, type Ns, ns, share } from '../../base/units.js';
import type { RankView } from '../../diagnosis/ranks/rank-view.js';
import type { RunFacts } from '../../diagnosis/run-facts.js';
import { COLLECTIVE_KINDS, type CollectiveKind } from '../../facts/rank-collectives.js';
import { percentOfStep, silentBelow, timeEvidence } from './evidence.js';
import type { Evidence } from './finding.js';
import { type Silent, threshold } from './rule.js';

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
