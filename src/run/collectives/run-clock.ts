import type { RankCollectives } from '../../facts/rank-collectives.js';
import { type Clocks, onReference } from './clocks.js';

/** Times of a rank on the clock that the ranks of a run share. */
export interface RunClock {
  /** Times can be compared with those of other ranks to this many ns. Null: the rank shares no collective with them. */
  readonly error: number | null;
  /** `base`: what the trace's times count from, ns since 1970. `time`: ns from there. Null: no time. */
  toRun(base: bigint, time: number): bigint | null;
  /** The same for many times: ns from `origin`, which is a time on the run's clock. Never exchanges two times. */
  fromOrigin(base: bigint, origin: bigint): (time: number) => number;
}

/** Ranks that share no timed collective with others keep their own clock. */
export function runClock(
  rank: number,
  clocks: Clocks | null,
  collectivesOf: (rank: number) => RankCollectives | null,
): RunClock {
  const clock = clocks?.ranks.find((c) => c.rank === rank);
  const own = clock && collectivesOf(rank);
  const reference = clock && collectivesOf(clock.reference);
  if (!clock || !own?.timed || !reference?.timed)
    return {
      error: null,
      toRun: plus,
      fromOrigin: (base, origin) => {
        const shift = Number(base - origin);
        return (time) => Math.round(time + shift);
      },
    };
  // A rank may have several windows with bases of their own: the clock was fitted on one of them.
  return {
    error: clock.component === 0 ? clock.error : null,
    toRun: (base, time) => plus(reference.baseNs, onReference(clock, time + Number(base - own.baseNs))),
    fromOrigin: (base, origin) => {
      const [before, after] = [Number(base - own.baseNs), Number(reference.baseNs - origin)];
      return (time) => Math.round(onReference(clock, time + before) + after);
    },
  };
}

function plus(base: bigint, time: number): bigint | null {
  return Number.isFinite(time) ? base + BigInt(Math.round(time)) : null;
}
