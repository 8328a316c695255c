import { mean } from '../../base/statistics.js';
import { formatTime, ms } from '../../base/units.js';
import type { IncidentCause } from '../../model/incident.js';
import type { Change } from '../machine/machine-causes.js';
import type { Machines } from '../machine/machines.js';
import { isMoreWork, type PartChange, partChanges } from './phase-change.js';
import type { RankWatch } from './rank-watch.js';

export interface Explanation {
  readonly cause: IncidentCause;
  /** The ranks whose own time grew. Empty: all, or no one in particular. */
  readonly ranks: readonly number[];
  readonly evidence: readonly string[];
  readonly isMoreWork: boolean;
  /** By how much the own time of these ranks grew, ms per step. */
  readonly grew: number;
}

/** Own time that grew by this share of the change explains it. */
const EXPLAINS = 0.5;
/** If more ranks than this share grew alike, it is no matter of single ranks. */
const FEW = 0.5;

/** Which ranks changed at a step, and in what part of it. `grown`: ms per step. */
export function explainChange(watches: readonly RankWatch[], step: number, grown: number): Explanation {
  const changes = watches.flatMap(({ rank, history }) => {
    const [before, after] = [history.before(step), history.since(step)];
    if (!before || !after) return [];
    const own = after.own / after.count - before.own / before.count;
    return [{ rank, own, parts: partChanges(before, after) }];
  });
  if (changes.length === 0) return NOTHING_KNOWN;
  const slow = changes.filter((c) => c.own >= EXPLAINS * Math.abs(grown));
  const alone = slow.length > 0 && slow.length <= FEW * changes.length;
  const of = alone ? slow : changes;
  const parts = meanParts(of.map((c) => c.parts));
  // Ranks that wait for a late one communicate longer. So do all if the network is slower.
  const counted = slow.length > 0 ? parts.filter((p) => p.cause !== 'network') : parts;
  const most = counted.find((p) => p.after > p.before);
  return {
    cause: most?.cause ?? 'unknown',
    ranks: alone ? slow.map((c) => c.rank) : [],
    evidence: parts.filter((p) => matters(p, grown)).map(wordsOf),
    isMoreWork: !alone && isMoreWork(parts),
    grew: mean(of.map((c) => c.own)),
  };
}

/** The same with what the telemetry of the machines shows from the same moment on. */
export function withMachines(
  why: Explanation,
  machines: Machines | null,
  change: Omit<Change, 'cause'>,
): Explanation {
  if (!(change.detected > change.onset)) return why;
  const found = machines?.explain(why.ranks, { ...change, cause: why.cause });
  // A GPU at a lower clock computes longer, and an optimizer that waits for memory does not: that looks like more work.
  if (!found || (why.isMoreWork && found.cause !== 'gpu-clock')) return why;
  return { ...why, isMoreWork: false, cause: found.cause, evidence: [found.evidence, ...why.evidence] };
}

const NOTHING_KNOWN: Explanation = { cause: 'unknown', ranks: [], evidence: [], isMoreWork: false, grew: 0 };

/** Below this share of the change, a part is not worth a line. */
const LEAST_PART = 0.1;
const matters = (part: PartChange, grown: number) =>
  Math.abs(part.after - part.before) >= LEAST_PART * Math.abs(grown);

const wordsOf = ({ name, before, after }: PartChange) =>
  `${name}: ${formatTime(ms(before))} → ${formatTime(ms(after))} per step`;

function meanParts(all: readonly (readonly PartChange[])[]): readonly PartChange[] {
  const names = new Map(all.flatMap((parts) => parts.map((p) => [p.name, p.cause] as const)));
  return [...names]
    .map(([name, cause]) => {
      const found = all.map((parts) => parts.find((p) => p.name === name));
      return {
        name,
        cause,
        before: mean(found.map((p) => p?.before ?? 0)),
        after: mean(found.map((p) => p?.after ?? 0)),
      };
    })
    .sort((a, b) => b.after - b.before - (a.after - a.before));
}
