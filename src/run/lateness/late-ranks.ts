import { largest, mean, median } from '../../base/statistics.js';
import { type Ns, ns } from '../../base/units.js';
import { sumOfClasses, type TimeByClass } from '../../facts/time-class.js';
import type { GpuState } from '../../telemetry/gpu-state.js';
import { type SlowGpu, slowAgainst } from '../../telemetry/slow-gpu.js';
import type { OwnCause, RankTable } from '../table/build-table.js';
import { LATE_SHARE } from './lateness.js';

export type LateCause = OwnCause | 'link' | 'unknown';
export type Pattern = 'persistent' | 'spike' | 'periodic' | 'rotating' | 'host' | 'stage';

/** One rank or several that the others wait for. */
export interface LateRanks {
  /** Empty: a different rank in each step. */
  readonly ranks: readonly number[];
  readonly pattern: Pattern;
  readonly cause: LateCause;
  /** Time per step that the run would save without the delay. */
  readonly cost: Ns;
  /** What it costs at most, if a log does not show whether the others wait for all of the delay (`knownCost`). */
  readonly mayCost?: Ns | undefined;
  readonly confidence: number;
  /** Of a late host or stage: the host's name, or the mesh axis and coordinate (`pp 1`), or both. */
  readonly location: string | null;
  /** Numbers of the steps in which they were late. */
  readonly steps: readonly number[];
  /** Where telemetry shows that their GPU was slow. */
  readonly slowGpu?: SlowGpu;
  /** Where event logs show that most of the delay is in a phase that the job named itself. */
  readonly phase?: LatePhase;
}

/** A phase that takes late ranks longer than others. Times per step. */
interface LatePhase {
  readonly name: string;
  readonly time: Ns;
  /** The median of the other ranks. */
  readonly usual: Ns;
}

/** Whether the others may not wait for most of the delay: a log does not show it. */
export const mayBeHidden = ({ cost, mayCost }: LateRanks) => mayCost !== undefined && cost < mayCost / 2;

/** A clock explains a late rank when it is below this share of the others' clocks: a late rank is late by 5% or more. */
const SLOW_CLOCK = 0.97;

/**
 * Adds what telemetry says about the GPUs of late ranks. Phases of event logs do not separate computing from host time, but a
 * slow clock can: there an unknown cause becomes the GPU.
 */
export function withSlowGpus(
  late: readonly LateRanks[],
  gpus: ReadonlyMap<number, GpuState>,
): readonly LateRanks[] {
  return late.map((l) => {
    if (l.cause !== 'gpu' && l.cause !== 'unknown') return l;
    const slowGpu = slowGpuOf(l.ranks, gpus);
    return slowGpu ? { ...l, cause: 'gpu', slowGpu } : l;
  });
}

/** The median slow GPU of the late ranks; null unless all of them are slow. */
function slowGpuOf(ranks: readonly number[], gpus: ReadonlyMap<number, GpuState>): SlowGpu | null {
  const own = ranks.flatMap((rank) => gpus.get(rank) ?? []);
  const others = [...gpus].filter(([rank, gpu]) => !ranks.includes(rank) && !own.includes(gpu));
  const peers = [...new Set(others.map(([, gpu]) => gpu))];
  const slow = own.flatMap((gpu) => slowAgainst(gpu, peers, SLOW_CLOCK) ?? []);
  if (slow.length === 0 || slow.length < ranks.length) return null;
  return slow.toSorted((a, b) => a.clock - b.clock)[slow.length >> 1]!;
}

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

/** Ranks that share a slow link, and what the run would save without it, a step. */
interface SlowMembers {
  readonly ranks: readonly number[];
  readonly saving: number;
}

/** Of a slow link's time, the part that ranks elsewhere must be seen to wait for. Our choice: most of it. */
const WAITED_FOR = 0.5;
/** Transfers of one group were compared with those of its siblings, not explained. */
const CONFIDENCE = 0.75;

/**
 * Ranks that come late to the others because the transfers within their own group are slow. Their own time does not show it:
 * no communication counts there. So three things must be seen: transfers slower than those of sibling groups, exposed for
 * longer than on other ranks, while ranks outside wait for longer than the members do.
 */
export function lateByLinks(
  table: RankTable,
  slow: readonly SlowMembers[],
  late: readonly LateRanks[],
): LateRanks[] {
  const known = new Set(late.flatMap((l) => l.ranks));
  return slow.flatMap(({ ranks, saving }): LateRanks[] => {
    const isMember = table.ranks.map((rank) => ranks.includes(rank));
    const members = isMember.filter(Boolean).length;
    if (members < 2 || 2 * members > table.ranks.length || ranks.some((rank) => known.has(rank))) return [];
    const perStep = (r: number, of: 'comms_transfer' | 'comms_wait') =>
      mean(table.time[r]!.map((t) => t[of]));
    const among = (inside: boolean, of: 'comms_transfer' | 'comms_wait') =>
      [...isMember.keys()].filter((r) => isMember[r] === inside).map((r) => perStep(r, of));
    const exposed = mean(among(true, 'comms_transfer')) - median(among(false, 'comms_transfer'));
    const waited = median(among(false, 'comms_wait')) - mean(among(true, 'comms_wait'));
    const saved = ns(Math.min(saving, exposed));
    if (!(saved >= LATE_SHARE * table.recorded) || waited < WAITED_FOR * saved) return [];
    return [
      {
        ranks: [...ranks].sort((a, b) => a - b),
        pattern: 'persistent',
        cause: 'link',
        cost: saved,
        confidence: CONFIDENCE,
        location: null,
        steps: table.steps,
      },
    ];
  });
}

/**
 * What late ranks are known to cost, of what they cost if nothing hides their delay. A backward pass sends gradients while it
 * goes on. A delay before it holds up all of them. A delay within it may come after the gradients were sent, and then costs
 * nothing; a log does not distinguish the two. Known are
 *
 * - what is outside the pass;
 * - in the pass, what a rank takes longer that computes slower everywhere: it sends all gradients late. Not if it waited
 *   for the transfers for longer than it was late, because then they take longer than the pass, and hide it;
 * - for delays now and then, by how much the steps with a delay are longer than the others.
 */
export function knownCost(table: RankTable, late: LateRanks, cost: Ns): Ns {
  const steps = late.steps.map((step) => table.steps.indexOf(step)).filter((s) => s >= 0);
  if (steps.length === 0) return cost;
  const delays = steps.map((s) => delayIn(table, lateIn(table, late, s), s));
  const usual = (of: keyof Delay) => mean(delays.map((d) => d[of]));
  const share = steps.length / table.steps.length;
  const mayBeHidden = Math.max(0, usual('pass') - usual('usualPass'));
  const slower = usual('usualElsewhere') > 0 ? usual('elsewhere') / usual('usualElsewhere') - 1 : 0;
  const likeElsewhere = Math.min(mayBeHidden, Math.max(0, slower * usual('usualPass')));
  const isWaitedFor = usual('waited') < mayBeHidden;
  const known = cost - share * (mayBeHidden - (isWaitedFor ? likeElsewhere : 0));
  const isRare = late.pattern === 'spike' || late.pattern === 'periodic';
  const seen = isRare ? share * longerBy(table, steps) : 0;
  return ns(Math.min(cost, Math.max(0, known, seen)));
}

/** Indices of the late ranks; of ranks that take turns, the one that came last. */
function lateIn({ own, ranks }: RankTable, late: LateRanks, step: number): readonly number[] {
  if (late.ranks.length > 0) return late.ranks.map((rank) => ranks.indexOf(rank));
  const inStep = own.map((o) => o[step]!);
  return [inStep.indexOf(largest(inStep))];
}

/** Late ranks and the median of the others in one step, ns. */
interface Delay {
  /** Computing in the backward pass, up to the wait at its end. */
  readonly pass: number;
  readonly usualPass: number;
  /** Computing before and after it. */
  readonly elsewhere: number;
  readonly usualElsewhere: number;
  /** What the late ranks waited for transfers themselves. */
  readonly waited: number;
}

function delayIn({ mayHide, time, ranks }: RankTable, late: readonly number[], step: number): Delay {
  const others = [...ranks.keys()].filter((r) => !late.includes(r));
  const pass = (r: number) => mayHide[r]![step]!;
  const elsewhere = (r: number) => Math.max(0, time[r]![step]!.compute - pass(r));
  return {
    pass: mean(late.map(pass)),
    usualPass: median(others.map(pass)),
    elsewhere: mean(late.map(elsewhere)),
    usualElsewhere: median(others.map(elsewhere)),
    waited: mean(late.map((r) => communication(time[r]![step]!))),
  };
}

const communication = (time: TimeByClass) => time.comms_transfer + time.comms_wait + time.idle_comms;

/** By how much the median of these steps is longer than that of the others, ns. */
function longerBy({ time, steps }: RankTable, chosen: readonly number[]): number {
  const length = (s: number) => mean(time.map((t) => sumOfClasses(t[s]!)));
  const others = [...steps.keys()].filter((s) => !chosen.includes(s));
  return others.length > 0 ? median(chosen.map(length)) - median(others.map(length)) : 0;
}
