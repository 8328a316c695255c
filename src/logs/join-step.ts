import type { EventFacts } from './event-facts.js';

/** Fewer steps are no measurement. */
const MIN_STEPS = 3;
/** A trace that waits for input this part of a step needs a step with the wait in it (as XProf's input threshold). */
const INPUT_MATTERS = 0.05;

/**
 * The log that says what a step of a rank's trace takes without the profiler; null when there is none to trust. Of several
 * runs the last counts, also when it is too short: an earlier one may have been another program. `traceInputWait`: ns a
 * step that the trace waits for input; a step that may leave the input out (lmms-engine's does) is then no match for it.
 */
export function unprofiledLog(
  facts: readonly EventFacts[],
  rank: number,
  traceInputWait = 0,
): EventFacts | null {
  const last = facts.filter((f) => f.rank === rank).at(-1) ?? onlyRank(facts, rank);
  if (!last || last.steps < MIN_STEPS) return null;
  if (!last.stepIsWhole && traceInputWait > INPUT_MATTERS * last.step) return null;
  return last;
}

/** Where either side does not know its rank, and there is only one it can be. */
function onlyRank(facts: readonly EventFacts[], rank: number): EventFacts | undefined {
  const ranks = new Set(facts.map((f) => f.rank));
  return ranks.size === 1 && (rank < 0 || ranks.has(-1)) ? facts.at(-1) : undefined;
}
