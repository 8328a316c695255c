import { mean } from '../../base/statistics.js';
import { type Ns, ns, type Share, share } from '../../base/units.js';
import type { RankCollectives } from '../../facts/rank-collectives.js';
import type { PhaseKnowledge, RankFacts } from '../../facts/rank-facts.js';
import { type TimeByClass, type TimeClass, totals } from '../../facts/time-class.js';

export interface ComparedRank {
  readonly rank: number;
  readonly host: string | null;
  readonly coordinates: Coordinates | null;
  readonly facts: RankFacts;
}

/** With more steps than this a log can do without its first one. */
const ENOUGH_WITHOUT_FIRST = 5;

/**
 * The ranks of `comparable` (by index) over the steps that all of them have. `waits`: by rank index, then by step number.
 * Null with fewer than two ranks, or without a common step.
 */
export function buildTable(
  ranks: readonly ComparedRank[],
  waits: readonly ReadonlyMap<number, StepWait>[],
  comparable: ReadonlySet<number>,
): RankTable | null {
  const rankIndices = [...ranks.keys()].filter((index) => comparable.has(index));
  const chosen = rankIndices.map((index) => ranks[index]!);
  const fromLogs = chosen.every((r) => r.facts.source === 'log');
  const shared = commonSteps(chosen.map((r) => r.facts.steps.indices));
  // A log begins with the job. Its first step is start-up, which takes a different time on each rank.
  const steps = fromLogs && shared.length > ENOUGH_WITHOUT_FIRST ? shared.slice(1) : shared;
  if (chosen.length < 2 || steps.length === 0) return null;
  const rows = chosen.map((r, i) => rowOf(r.facts, waits[rankIndices[i]!]!, steps));
  return {
    ranks: chosen.map((r) => r.rank),
    rankIndices,
    hosts: chosen.map((r) => r.host),
    coordinates: chosen.map((r) => r.coordinates),
    steps,
    own: rows.map((r) => r.own),
    mayHide: rows.map((r) => r.mayHide),
    recorded: ns(mean(rows.map((r) => r.recorded))),
    time: rows.map((r) => r.time),
    fromLogs,
    onlyInputKnown: chosen.some((r) => r.facts.phases !== null && !tellsCauses(r.facts.phases)),
    // In a log, copies are the phase that moves a batch to the device.
    inputCopies: chosen.map((r) => (fromLogs ? share(1) : inputShare(r.facts))),
  };
}

const inputShare = ({ copies, time }: RankFacts) =>
  share(time.copy > 0 ? Math.min(1, copies.toDevice / time.copy) : 0);

/** Phases separate computing from host time only on a job without a GPU, or if the log shows whether host or device set the pace. */
const tellsCauses = ({ placed, allHost, hostPaced }: PhaseKnowledge) =>
  placed && (allHost || hostPaced !== null);

/** A rank's own time and its time by class, in each step. `recorded`: its mean step time. */
function rowOf(facts: RankFacts, waits: ReadonlyMap<number, StepWait>, steps: readonly number[]) {
  const indexOf = new Map(facts.steps.indices.map((step, i) => [step, i]));
  const isOverlapKnown = !facts.phases || (facts.phases.placed && facts.collectives!.source !== 'phases');
  const divide = isOverlapKnown ? withoutCommunication : withoutLongestWait;
  const cells = steps.map((step) => {
    const i = indexOf.get(step)!;
    const period = facts.steps.periods[i]!;
    const mayHide = facts.phases?.mayHide?.[i] ?? 0;
    return { period, mayHide, ...divide(period, facts.timePerStep[i]!, waits.get(step) ?? NO_WAIT) };
  });
  return {
    own: Float64Array.from(cells, (c) => c.own),
    mayHide: Float64Array.from(cells, (c) => c.mayHide),
    time: cells.map((c) => c.time),
    recorded: mean(cells.map((c) => c.period)),
  };
}

interface Cell {
  readonly own: number;
  readonly time: TimeByClass;
}

/**
 * All exposed communication is taken out, not only waiting: transfers that a late rank hides behind its computing are
 * exposed on an early one, and are not the early rank's own work either.
 */
function withoutCommunication(period: number, time: TimeByClass, { waitShare }: StepWait): Cell {
  const exposed = time.comms_transfer + time.comms_wait + time.idle_comms;
  return {
    own: period - exposed,
    time: totals((c) => {
      if (c === 'comms_wait') return exposed * waitShare;
      return c === 'comms_transfer' || c === 'idle_comms' ? time[c] * (1 - waitShare) : time[c];
    }),
  };
}

/** Where phases may hold waiting that nobody named, in the order in which it is taken out of them. */
const WAITED_IN = [
  'comms_transfer',
  'idle_comms',
  'compute',
  'idle_sync',
  'idle_host',
  'idle_other',
] as const;

/**
 * For logs that do not say what overlapped with what. One delay may show in several collectives, so only the longest wait
 * of the step is taken out.
 */
function withoutLongestWait(period: number, time: TimeByClass, { longest }: StepWait): Cell {
  const waiting = Math.min(period, longest);
  const rest: Record<TimeClass, number> = { ...time, comms_wait: waiting };
  let left = waiting;
  for (const c of WAITED_IN) {
    const taken = Math.min(left, rest[c]);
    rest[c] -= taken;
    left -= taken;
  }
  return { own: period - waiting, time: totals((c) => rest[c]) };
}

/** Step numbers that are in every list, in the order of the first. */
export function commonSteps([first = [], ...rest]: readonly (readonly number[])[]): number[] {
  const sets = rest.map((list) => new Set(list));
  return first.filter((step) => sets.every((set) => set.has(step)));
}

/** What a rank waited for others in one step. */
interface StepWait {
  /** The longest wait in one collective, hidden or exposed. */
  readonly longest: Ns;
  readonly exposed: Ns;
  /** The part of exposed communication that is waiting; the rest is transfer. */
  readonly waitShare: Share;
}

const NO_WAIT: StepWait = { longest: ns(0), exposed: ns(0), waitShare: share(0) };

/**
 * By step number. A collective waits first and transfers last, and computing hides its beginning. So its exposed part is
 * transfer up to the length of the transfer, and waiting beyond that. `waitOf`: ns waited in each collective.
 */
export function waitsByStep(collectives: RankCollectives, waitOf: Float64Array): Map<number, StepWait> {
  const sums = new Map<number, { longest: number; waited: number; exposed: number }>();
  for (let i = 0; i < collectives.length; i++) {
    const step = collectives.steps[collectives.step[i]!];
    const wait = waitOf[i]!;
    if (step === undefined || Number.isNaN(wait)) continue;
    const exposed = collectives.exposed[i]!;
    const transfer = collectives.end[i]! - collectives.start[i]! - wait;
    const sum = sums.get(step) ?? { longest: 0, waited: 0, exposed: 0 };
    sums.set(step, sum);
    sum.longest = Math.max(sum.longest, wait);
    sum.waited += Math.min(wait, Math.max(0, exposed - transfer));
    sum.exposed += exposed;
  }
  return new Map(
    [...sums].map(([step, { longest, waited, exposed }]) => [
      step,
      { longest: ns(longest), exposed: ns(exposed), waitShare: share(exposed > 0 ? waited / exposed : 0) },
    ]),
  );
}

/** The part of exposed communication that is waiting, over all steps. */
export function waitShareOf(steps: ReadonlyMap<number, StepWait>): Share {
  let [waited, exposed] = [0, 0];
  for (const step of steps.values()) {
    waited += step.waitShare * step.exposed;
    exposed += step.exposed;
  }
  return share(exposed > 0 ? waited / exposed : 0);
}

/** A rank's position on each mesh axis, by axis name, outermost axis first. */
export type Coordinates = Readonly<Record<string, number>>;

/**
 * The compared ranks side by side, step by step. A late rank shows in its own time: the step less its exposed
 * communication. It shows neither in the step, which is as long on all ranks because they wait for each other, nor in its
 * time in collectives, which is shortest on the late rank because everybody else is there already.
 */
export interface RankTable {
  /** Rank numbers. All other lists by rank are in this order. */
  readonly ranks: readonly number[];
  /** Index of each rank in `MatchedCollectives.ranks`. */
  readonly rankIndices: readonly number[];
  readonly hosts: readonly (string | null)[];
  /** Null: unknown. */
  readonly coordinates: readonly (Coordinates | null)[];
  /** Numbers of the steps that all ranks have. */
  readonly steps: readonly number[];
  /** ns of own time, by rank and step. */
  readonly own: readonly Float64Array[];
  /** ns of own time behind which transfers may already have run, by rank and step. 0 where it is known when they began. */
  readonly mayHide: readonly Float64Array[];
  /** Mean recorded step over ranks and steps: `StepTime.recorded` of the run. */
  readonly recorded: Ns;
  /** By rank and step. Waiting for other ranks is in `comms_wait` and in no other class. */
  readonly time: readonly (readonly TimeByClass[])[];
  /** All ranks are known from event logs. */
  readonly fromLogs: boolean;
  /** The log of some rank separates waiting for input from the rest of its own time, and nothing more. */
  readonly onlyInputKnown: boolean;
  /** For each rank the share of its copies that move input to the device. */
  readonly inputCopies: readonly Share[];
}

/** What can make a rank late. */
export const CAUSES = ['data', 'gpu', 'compile', 'host'] as const;
export type OwnCause = (typeof CAUSES)[number];

/** ns of a rank's own time by cause. */
export function byCause(time: TimeByClass, inputCopies: Share): Record<OwnCause, number> {
  const input = time.copy * inputCopies;
  return {
    data: time.idle_data + input,
    gpu: time.compute,
    compile: time.idle_compile,
    // Other copies are short, and the host is what delays them.
    host: time.idle_host + time.idle_sync + time.idle_other + time.copy - input,
  };
}
