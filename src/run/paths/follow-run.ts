import { largest, mean } from '../../base/statistics.js';
import type { RankFacts } from '../../facts/rank-facts.js';
import { sumOfClasses, type TimeByClass, totals } from '../../facts/time-class.js';
import type { Clocks } from '../collectives/clocks.js';
import type { MatchedCollectives } from '../collectives/matched.js';
import type { CollectiveWaits } from '../collectives/waits.js';
import type { RankTable } from '../table/own-time.js';
import { type CriticalPath, type PathRank, walkBack } from './critical-path.js';
import { Meetings } from './meetings.js';
import { type PlayedRun, prepareRun } from './what-if-ranks.js';

export interface FollowedRun {
  readonly path: CriticalPath | null;
  readonly played: PlayedRun | null;
}

/** A step's time on the critical path, ns by class, and the rank with most of it. */
export interface CriticalTime {
  readonly time: TimeByClass;
  readonly rank: number;
}

interface Matching {
  readonly matched: MatchedCollectives;
  readonly waits: CollectiveWaits;
  readonly clocks: Clocks;
}

/** A path of another length than the steps has missed something. In logs a step is not of one length on all ranks. */
const SAME_LENGTH = 0.1;
const SAME_IN_LOGS = 0.25;

/** All ranks together, back and forth. `ranks`: by place as matched. Null: it is not known when ranks did what. */
export function followRun(
  ranks: readonly { readonly rank: number; readonly facts: RankFacts }[],
  table: RankTable,
  { matched, waits, clocks }: Matching,
): FollowedRun | null {
  const chosen = table.places.flatMap((place): PathRank[] => {
    const { rank, facts } = ranks[place]!;
    const { timeline, collectives, steps } = facts;
    if (!timeline || collectives!.source === 'phases') return [];
    const stepOf = new Map(steps.indices.map((s, i) => [s, i]));
    return [{ rank, place, timeline, steps: table.steps.map((s) => stepOf.get(s)!) }];
  });
  if (chosen.length < table.ranks.length) return null;
  const collectives = ranks.map((r) => r.facts.collectives!);
  const meetings = new Meetings(collectives, matched, waits);
  const path = walkBack(chosen, meetings, (step) => lastIn(table, step));
  const length = path ? sumOfClasses(path.time) : 0;
  const timed = collectives.every((c) => c.timed);
  return {
    path: Math.abs(length / table.step - 1) <= (timed ? SAME_LENGTH : SAME_IN_LOGS) ? path : null,
    // A log has when a rank began to wait for a collective, not when it came to it, which may be long before.
    played: timed ? prepareRun(chosen, table, meetings, clocks.ranks) : null,
  };
}

/** Place of the rank that came last in a step. */
function lastIn(table: RankTable, step: number): number {
  const own = table.own.map((o) => o[step]!);
  return own.indexOf(largest(own));
}

/** Without knowing when: in each step the rank that came last sets the pace, and the run's time is what it did then. */
export function alongLast(table: RankTable): CriticalTime {
  const last = table.steps.map((_, s) => lastIn(table, s));
  const time = totals((c) => (c === 'comms_wait' ? 0 : mean(last.map((r, s) => table.time[r]![s]![c]))));
  const often = [...new Set(last)].reduce((a, b) =>
    last.filter((r) => r === b).length > last.filter((r) => r === a).length ? b : a,
  );
  return { time, rank: table.ranks[often]! };
}
