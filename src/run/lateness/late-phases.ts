import { mean, median } from '../../base/statistics.js';
import { type Ns, ns } from '../../base/units.js';
import type { LatePhase, LateRanks } from './late-ranks.js';

/** Mean time per step of the phases that the job named itself, by name. */
export type OwnPhases = ReadonlyMap<string, Ns>;

/** A phase is named if its excess is at least this part of the delay: then most of the delay is in it. */
const MOST_OF_DELAY = 0.5;

/** Adds the job's own phase in which late ranks are late, where event logs have one. `phases`: of all ranks, by rank. */
export function withLatePhases(
  late: readonly LateRanks[],
  phases: ReadonlyMap<number, OwnPhases>,
): readonly LateRanks[] {
  return late.map((l) => {
    const phase = latePhaseOf(l, phases);
    return phase ? { ...l, phase } : l;
  });
}

/** Sentences name it, and a log may call its phases anything. */
const MOST_LETTERS = 60;
const shortened = (name: string) => (name.length > MOST_LETTERS ? `${name.slice(0, MOST_LETTERS)}…` : name);

function latePhaseOf(late: LateRanks, phases: ReadonlyMap<number, OwnPhases>): LatePhase | null {
  const own = late.ranks.flatMap((rank) => phases.get(rank) ?? []);
  const others = [...phases].flatMap(([rank, named]) => (late.ranks.includes(rank) ? [] : [named]));
  if (own.length === 0 || own.length < late.ranks.length || others.length === 0) return null;
  const names = new Set(own.flatMap((named) => [...named.keys()]));
  const found = [...names].map((name) => ({
    name,
    time: ns(mean(own.map((named) => named.get(name) ?? 0))),
    usual: ns(median(others.map((named) => named.get(name) ?? 0))),
  }));
  const excess = ({ time, usual }: LatePhase) => time - usual;
  const most = found.reduce<LatePhase | null>((a, b) => (a && excess(a) >= excess(b) ? a : b), null);
  if (!most || !(excess(most) >= MOST_OF_DELAY * (late.mayCost ?? late.cost))) return null;
  return { ...most, name: shortened(most.name) };
}
