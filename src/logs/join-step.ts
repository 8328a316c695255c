import type { EventFacts } from './event-facts.js';

/** Fewer steps are not a measurement. */
const MIN_STEPS = 3;
/** A trace that waits for input this share of a step needs a log with the wait in its step (XProf's input threshold). */
const INPUT_MATTERS = 0.05;

/**
 * The log that says how long a step of a rank's trace takes without the profiler; null when none can be trusted. The last
 * run counts, even when it is too short: an earlier one may have been another program. `traceInputWait`: ns per step that
 * the trace waits for input. A log whose step may leave out the input (lmms-engine's does) is not used for such a trace.
 */
export function unprofiledLog(
  facts: readonly EventFacts[],
  rank: number,
  traceInputWait = 0,
): EventFacts | null {
  const last = facts.filter((f) => f.rank === rank).at(-1) ?? onlyRank(facts, rank);
  // What a profiler recorded meanwhile is no measurement without one. The trace itself tells as much.
  if (!last || last.steps < MIN_STEPS || last.disturbedBy === 'recording') return null;
  if (!last.stepIsWhole && traceInputWait > INPUT_MATTERS * last.step) return null;
  return last;
}

/** Where either side does not know its rank: the only rank there is. */
function onlyRank(facts: readonly EventFacts[], rank: number): EventFacts | undefined {
  const ranks = new Set(facts.map((f) => f.rank));
  return ranks.size === 1 && (rank < 0 || ranks.has(-1)) ? facts.at(-1) : undefined;
}
