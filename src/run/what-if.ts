import { median } from '../base/statistics.js';
import { type Ns, ns } from '../base/units.js';
import { beyondPace, type Comparison } from './compare.js';
import type { LateRanks } from './lateness/late-ranks.js';

/** The run without late ranks. */
export interface WhatIf {
  /** Time per step. */
  readonly actual: Ns;
  readonly ideal: Ns;
  /** The part of the difference that the named late ranks explain. Null: there is hardly any difference. */
  readonly shareOfNamed: number | null;
  /** What each change would save. Empty if the replay does not reproduce the run. */
  readonly cases: readonly WhatIfCase[];
}

export interface WhatIfCase {
  /** Without the delay of these ranks. Null: with all transfers hidden behind computing. */
  readonly late: LateRanks | null;
  readonly saving: Ns;
}

/** A smaller saving, as a share of the step, is within the noise of real runs. */
const MIN_SAVING = 0.01;

/** The step without late ranks: from replaying the run, else from the own time of the median rank. */
export function whatIfWithoutLateRanks(comparison: Comparison): WhatIf | null {
  const { table, critical, played, late, pace } = comparison;
  if (!table || !critical) return null;
  const beyond = beyondPace(table, pace);
  const lostAsRecorded = played
    ? Math.min(played.withoutAny, 0.99 * table.recorded)
    : lostToLateness(comparison);
  const lost = Math.max(0, lostAsRecorded - beyond);
  const named = late.flatMap((l) => l.ranks);
  const wonBack =
    played && named.length > 0
      ? Math.max(0, played.without(named) - beyond)
      : late.reduce((sum, l) => sum + l.cost, 0);
  return {
    actual: pace,
    ideal: ns(pace - lost),
    shareOfNamed: lost > 0.001 * pace ? Math.min(1, wonBack / lost) : null,
    cases: casesOf(comparison),
  };
}

/** What is left without lateness: the own time of the median rank, and exposed transfers. */
function lostToLateness({ table, critical }: Comparison): number {
  const steps = table!.steps.length;
  const usual = table!.steps.reduce((sum, _, s) => sum + median(table!.own.map((o) => o[s]!)), 0) / steps;
  const { comms_transfer, idle_comms } = critical!.time;
  return table!.recorded - Math.min(table!.recorded, usual + comms_transfer + idle_comms);
}

function casesOf({ played, traced, table, late, pace }: Comparison): readonly WhatIfCase[] {
  if (!played) return traced ? casesOf({ ...traced, late: [] }) : [];
  const without = late.map((l) => ({
    late: l,
    saving: l.ranks.length > 0 ? l.cost : ns(Math.max(0, played.withoutAny - beyondPace(table!, pace))),
  }));
  return [...without, { late: null, saving: played.withOverlap }].filter(
    (c) => c.saving >= MIN_SAVING * table!.recorded,
  );
}
