import { groupBy } from '../../base/group-by.js';
import { largest, mean } from '../../base/statistics.js';
import type { RankFacts } from '../../facts/rank-facts.js';
import { sumOfClasses, type TimeByClass, type TimeClass, totals } from '../../facts/time-class.js';
import type { Clocks } from '../collectives/clocks.js';
import type { MatchedCollectives } from '../collectives/matched.js';
import type { CollectiveWaits } from '../collectives/waits.js';
import type { RankTable } from '../table/build-table.js';
import { type CriticalPath, type PathRank, walkBack } from './critical-path.js';
import { Meetings } from './meetings.js';
import { type PlayedRun, prepareRun } from './what-if-ranks.js';

interface FollowedRun {
  readonly path: CriticalPath | null;
  readonly played: PlayedRun | null;
}

/** A step on the critical path, and the rank with most of it. */
export interface CriticalTime {
  readonly time: TimeByClass;
  readonly rank: number;
}

interface Matching {
  readonly matched: MatchedCollectives;
  readonly waits: CollectiveWaits;
  readonly clocks: Clocks;
}

/** A path that differs more from the step has missed something. Simulated paths are within 1%. */
const MAX_DIFFERENCE = 0.1;
/** In logs a step is not equally long on all ranks. */
const MAX_DIFFERENCE_IN_LOGS = 0.25;

/** Walks all ranks back and prepares their replay. `ranks`: as in the matching. Null: when ranks did what is unknown. */
export function followRun(
  ranks: readonly { readonly rank: number; readonly facts: RankFacts }[],
  table: RankTable,
  { matched, waits, clocks }: Matching,
): FollowedRun | null {
  const chosen = table.rankIndices.flatMap((rankIndex): PathRank[] => {
    const { rank, facts } = ranks[rankIndex]!;
    const { timeline, collectives, steps } = facts;
    if (!timeline || collectives!.source === 'phases') return [];
    const indexOf = new Map(steps.indices.map((step, i) => [step, i]));
    return [{ rank, rankIndex, timeline, steps: table.steps.map((step) => indexOf.get(step)!) }];
  });
  if (chosen.length < table.ranks.length) return null;
  const collectives = ranks.map((r) => r.facts.collectives!);
  const meetings = new Meetings(collectives, matched, waits);
  const path = walkBack(chosen, meetings, (step) => lastIn(table, step));
  const timed = collectives.every((c) => c.timed);
  const difference = Math.abs((path ? sumOfClasses(path.time) : 0) / table.recorded - 1);
  return {
    path: difference <= (timed ? MAX_DIFFERENCE : MAX_DIFFERENCE_IN_LOGS) ? path : null,
    // A log has when a rank began to wait for a collective, not when it started it, which may be long before.
    played: timed ? prepareRun(chosen, table, meetings, clocks.ranks) : null,
  };
}

/** Index of the rank with most own time in a step: it came last. Not one of `except`. */
function lastIn({ own, ranks }: RankTable, step: number, except: ReadonlySet<number> = NO_RANKS): number {
  const inStep = own.map((o, r) => (except.has(ranks[r]!) ? Number.NEGATIVE_INFINITY : o[step]!));
  return inStep.indexOf(largest(inStep));
}

const NO_RANKS: ReadonlySet<number> = new Set();

/**
 * The critical time where it is not known when ranks did what: in each step the rank that came last sets the pace, so the
 * run's time is what that rank did then.
 */
export function timeOfLastRanks(table: RankTable): CriticalTime {
  return timeOfRanks(
    table,
    table.steps.map((_, s) => lastIn(table, s)),
    (time, c) => (c === 'comms_wait' ? 0 : time[c]),
  );
}

/** The same if the delay of these ranks is hidden: then nobody waits for them, and what looks like it is transfer. */
export function timeIfHidden(table: RankTable, hidden: ReadonlySet<number>): CriticalTime {
  return timeOfRanks(
    table,
    table.steps.map((_, s) => lastIn(table, s, hidden)),
    (time, c) => {
      if (c === 'comms_wait') return 0;
      return c === 'comms_transfer' ? time.comms_transfer + time.comms_wait : time[c];
    },
  );
}

/** `last`: index of the rank that sets the pace, by step. */
function timeOfRanks(
  table: RankTable,
  last: readonly number[],
  of: (time: TimeByClass, c: TimeClass) => number,
): CriticalTime {
  const time = totals((c) => mean(last.map((r, s) => of(table.time[r]![s]!, c))));
  const mostOften = [...groupBy(last, (r) => r).values()].reduce((a, b) => (b.length > a.length ? b : a));
  return { time, rank: table.ranks[mostOften[0]!]! };
}
