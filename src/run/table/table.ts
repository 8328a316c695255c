import { mean } from '../../base/statistics.js';
import { ns } from '../../base/units.js';
import type { RankCollectives } from '../../facts/rank-collectives.js';
import type { PhaseKnowledge, RankFacts } from '../../facts/rank-facts.js';
import { type TimeByClass, type TimeClass, totals } from '../../facts/time-class.js';
import type { RankTable } from './own-time.js';

/** What is known of one rank. */
export interface ComparedRank {
  readonly rank: number;
  readonly host: string | null;
  readonly coordinates: Readonly<Record<string, number>> | null;
  readonly worldSize: number | null;
  readonly facts: RankFacts;
}

const ENOUGH_WITHOUT_FIRST = 5;

/** Ranks side by side over the steps they all have. */
export function tableOf(
  ranks: readonly ComparedRank[],
  bySteps: readonly ReadonlyMap<number, StepWait>[],
  comparable: ReadonlySet<number>,
): RankTable | null {
  const chosen = ranks.map((r, place) => ({ ...r, place })).filter((r) => comparable.has(r.place));
  const fromLogs = chosen.every((r) => r.facts.source === 'log');
  const shared = commonSteps(chosen.map((r) => r.facts.steps.indices));
  // A log begins with the job: getting going takes each rank as long as it does, and says nothing about it.
  const common = fromLogs && shared.length > ENOUGH_WITHOUT_FIRST ? shared.slice(1) : shared;
  if (chosen.length < 2 || common.length === 0) return null;
  const rows = chosen.map((r) => rowOf(r.facts, bySteps[r.place]!, common));
  return {
    places: chosen.map((r) => r.place),
    ...{ ranks: chosen.map((r) => r.rank), hosts: chosen.map((r) => r.host), steps: common },
    coordinates: chosen.map((r) => r.coordinates),
    own: rows.map((r) => r.own),
    time: rows.map((r) => r.time),
    step: ns(mean(rows.map((r) => r.step))),
    // Waiting is told from durations alone: no two clocks are compared.
    clockError: ns(0),
    phasesOnly: chosen.some((r) => r.facts.phases !== null && !tellsCauses(r.facts.phases)),
    fromLogs,
    inputCopies: chosen.map((r) => (fromLogs ? 1 : inputShare(r.facts))),
  };
}

/** Of a log all: copies in it are the phase that moves a batch to the device. */
const inputShare = ({ copies, time }: RankFacts) =>
  time.copy > 0 ? Math.min(1, copies.toDevice / time.copy) : 0;

/** Phases tell more than input where only the host computes, or where it is known who set the pace. */
const tellsCauses = ({ placed, allHost, hostPaced }: PhaseKnowledge) =>
  placed && (allHost || hostPaced !== null);

function commonSteps(lists: readonly (readonly number[])[]): number[] {
  const [first = [], ...rest] = lists;
  const sets = rest.map((l) => new Set(l));
  return first.filter((s) => sets.every((set) => set.has(s)));
}

/**
 * A rank's own time in each step: the step less its exposed communication. Not only what it waited: an early rank sees
 * transfers bare that the late one hides behind its computing, and they are not its own doing either.
 */
function rowOf(facts: RankFacts, waits: ReadonlyMap<number, StepWait>, steps: readonly number[]) {
  const placeOf = new Map(facts.steps.indices.map((s, i) => [s, i]));
  const own = new Float64Array(steps.length);
  const time = steps.map((step, i) => {
    const place = placeOf.get(step)!;
    const inStep = waits.get(step) ?? { longest: 0, exposed: 0, share: 0 };
    const classes = facts.timePerStep[place]!;
    const period = facts.steps.periods[place]!;
    if (facts.phases && (!facts.phases.placed || facts.collectives!.source === 'phases')) {
      // What was hidden is not known, and one delay may show in several collectives: the longest wait is taken out.
      const waiting = Math.min(period, inStep.longest);
      own[i] = period - waiting;
      return takeOut(classes, waiting);
    }
    const exposed = classes.comms_transfer + classes.comms_wait + classes.idle_comms;
    const waiting = exposed * inStep.share;
    own[i] = period - exposed;
    return totals((c) => {
      if (c === 'comms_wait') return waiting;
      return c === 'comms_transfer' || c === 'idle_comms' ? classes[c] * (1 - inStep.share) : classes[c];
    });
  });
  return { own, time, step: mean(steps.map((step) => facts.steps.periods[placeOf.get(step)!]!)) };
}

/** Waiting inside phases that are taken for something else. */
const WAITED_IN = [
  'comms_transfer',
  'idle_comms',
  'compute',
  'idle_sync',
  'idle_host',
  'idle_other',
] as const;

function takeOut(classes: TimeByClass, waiting: number): TimeByClass {
  const rest: Record<TimeClass, number> = { ...classes, comms_wait: waiting };
  let left = waiting;
  for (const c of WAITED_IN) {
    const taken = Math.min(left, rest[c]);
    rest[c] -= taken;
    left -= taken;
  }
  return totals((c) => rest[c]);
}

/**
 * Of a rank's exposed communication in each step, the part that is waiting. A collective waits first and moves data last,
 * and what computing hides of it is its beginning: so the exposed part is transfer up to the transfer's length, and
 * waiting beyond.
 */
export function waitsBySteps(collectives: RankCollectives, waitOf: Float64Array): Map<number, StepWait> {
  const sums = new Map<number, { longest: number; waited: number; exposed: number }>();
  for (let i = 0; i < collectives.length; i++) {
    const step = collectives.steps[collectives.step[i]!];
    const wait = waitOf[i]!;
    if (step === undefined || Number.isNaN(wait)) continue;
    const transfer = collectives.end[i]! - collectives.start[i]! - wait;
    const waiting = Math.min(wait, Math.max(0, collectives.exposed[i]! - transfer));
    const sum = sums.get(step) ?? { longest: 0, waited: 0, exposed: 0 };
    sums.set(step, sum);
    sum.longest = Math.max(sum.longest, wait);
    sum.waited += waiting;
    sum.exposed += collectives.exposed[i]!;
  }
  const entries = [...sums].map(([step, s]) => {
    return [
      step,
      { longest: s.longest, exposed: s.exposed, share: s.exposed > 0 ? s.waited / s.exposed : 0 },
    ] as const;
  });
  return new Map(entries);
}

export interface StepWait {
  /** ns, of one collective, hidden or not. */
  readonly longest: number;
  /** ns of exposed communication, and the part of it that is waiting. */
  readonly exposed: number;
  readonly share: number;
}

/** The share of waiting over all steps. */
export function waitShareOf(steps: ReadonlyMap<number, StepWait>): number {
  let waited = 0;
  let exposed = 0;
  for (const step of steps.values()) {
    waited += step.share * step.exposed;
    exposed += step.exposed;
  }
  return exposed > 0 ? waited / exposed : 0;
}
