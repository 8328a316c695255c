import type { RankCollectives } from '../facts/rank-collectives.js';
import { type Clocks, onReference } from '../run/collectives/clocks.js';

/** Times of a rank on the clock that the ranks of a run share. */
export interface RunClock {
  /** `base`: what the trace's times count from, ns since 1970. `time`: ns from there. Null: no time. */
  toRun(base: bigint, time: number): bigint | null;
}

const OWN_CLOCK: RunClock = { toRun: plus };

/** Ranks that share no timed collective with others keep their own clock. */
export function runClock(
  rank: number,
  clocks: Clocks | null,
  collectivesOf: (rank: number) => RankCollectives | null,
): RunClock {
  const clock = clocks?.ranks.find((c) => c.rank === rank);
  const own = clock && collectivesOf(rank);
  const reference = clock && collectivesOf(clock.reference);
  if (!clock || !own?.timed || !reference?.timed) return OWN_CLOCK;
  return {
    // A rank may have several windows with bases of their own: the clock was fitted on one of them.
    toRun: (base, time) => plus(reference.baseNs, onReference(clock, time + Number(base - own.baseNs))),
  };
}

function plus(base: bigint, time: number): bigint | null {
  return Number.isFinite(time) ? base + BigInt(Math.round(time)) : null;
}
