import { largest, mean, median } from '../../base/statistics.js';
import { type Ns, ns } from '../../base/units.js';
import { TIME_CLASSES, type TimeByClass, type TimeClass, totals } from '../../facts/time-class.js';
import type { RankClock } from '../collectives/clocks.js';
import type { RankTable } from '../table/build-table.js';
import { type PathRank, runsOfSteps } from './critical-path.js';
import type { Meetings } from './meetings.js';
import { type Change, playRun } from './play.js';
import { planRun, type RunPlan } from './run-plan.js';

/** The recorded steps of all ranks, ready to replay with a change. Times are per step. */
export interface PlayedRun {
  /** As replayed without a change, and as measured. */
  readonly unchanged: Ns;
  readonly measured: Ns;
  /** Saving without the delay of these ranks: what they take beyond the median of the others. */
  without(ranks: readonly number[]): Ns;
  /** Saving without the delay of any rank. */
  readonly withoutAny: Ns;
  /** Saving if collectives of exactly these ranks took this share of their transfer. */
  withLink(ranks: readonly number[], share: number): Ns;
  /** Saving when computing hides all transfers, as far as the busiest stream allows. */
  readonly withOverlap: Ns;
}

/** The unchanged replay must reproduce the step this well: 16 recordings of four ranks come within 1%. */
const FAITHFUL = 0.05;
/** If a rank has this share of the step more of a class, it is part of its delay; less is noise. */
const PART_OF_DELAY = 0.01;
/** Communication is not a rank's own time. */
const OWN_CLASSES: readonly TimeClass[] = TIME_CLASSES.filter(
  (c) => c !== 'comms_transfer' && c !== 'comms_wait' && c !== 'idle_comms',
);

/** `ranks`: in the order of the table. Null: the unchanged replay does not reproduce the step. */
export function prepareRun(
  ranks: readonly PathRank[],
  table: RankTable,
  meetings: Meetings,
  clocks: readonly RankClock[],
): PlayedRun | null {
  const runs = runsOfSteps(ranks).map(([from, to]) => ({
    from,
    plan: planRun(ranks, meetings, [from, to], clocks),
  }));
  const play = (changeOf: (plan: RunPlan) => Change): Ns => {
    let sum = 0;
    for (const { plan } of runs) {
      const took = playRun(plan, changeOf(plan));
      if (!took) return ns(Number.NaN);
      // The slowest rank: one whose delay hid its collectives would seem not to wait for them without the delay.
      sum += largest([...took]);
    }
    return ns(sum / table.steps.length);
  };
  const unchanged = play(() => ({}));
  const measured = table.recorded;
  if (!(Math.abs(unchanged / measured - 1) <= FAITHFUL)) return null;
  const saved = (changed: number, from = unchanged) =>
    ns(Math.max(0, ((from - changed) * measured) / unchanged));
  // A rank that was not captured may itself wait for the late one. Those that wait for it would then seem to be as late without
  // the delay. So both sides of the comparison go without waiting for such ranks.
  const hasUnknown = runs.some(
    ({ plan }) =>
      plan.ranks.some(({ slots }) => slots.collective.includes(-1)) ||
      plan.transfer.some((ns, k) => plan.transferAlone[k] !== ns),
  );
  const baseline = hasUnknown ? play(() => ({ alone: true })) : unchanged;
  // Several parts of the report ask for the same, and a replay of thousands of ranks takes seconds.
  const known = new Map<string, Ns>();
  const once = (what: string, compute: () => Ns): Ns => {
    const saving = known.get(what) ?? compute();
    known.set(what, saving);
    return saving;
  };
  const without = (named: readonly number[]) =>
    once(named.join(), () => {
      const factors = factorsOf(table, new Set(named));
      const shorter = (plan: RunPlan): Change => ({
        own: (r, i) => shortened(ranks[r]!, plan, r, i, factors[r]!),
        alone: true,
      });
      return saved(play(shorter), baseline);
    });
  return {
    unchanged,
    measured,
    without,
    withLink: (named, share) => {
      const indices = table.ranks.flatMap((rank, r) => (named.includes(rank) ? [r] : []));
      return saved(play((plan) => ({ transferShare: (c) => (areMembers(plan, c, indices) ? share : 1) })));
    },
    get withoutAny() {
      return without(table.ranks);
    },
    get withOverlap() {
      return once('overlap', () => {
        const floor = runs.reduce((sum, { plan }) => sum + busiestStream(plan), 0) / table.steps.length;
        const hidden = play(() => ({ hidden: true }));
        return saved(Math.max(floor, hidden));
      });
    },
  };
}

/** Whether a collective of the plan has exactly these ranks, by index. */
function areMembers({ members }: RunPlan, collective: number, ranks: readonly number[]): boolean {
  const own = members.rank.subarray(members.from[collective]!, members.from[collective + 1]!);
  return own.length === ranks.length && ranks.every((r) => own.includes(r));
}

/** The share of each class that is left without the delay, by rank and step. Null: the rank keeps its time. */
function factorsOf(table: RankTable, named: ReadonlySet<number>): (readonly Float64Array[] | null)[] {
  const all = table.ranks.every((r) => named.has(r));
  const others = table.ranks.flatMap((rank, r) => (all || !named.has(rank) ? [r] : []));
  const usual = table.steps.map((_, s) => totals((c) => median(others.map((o) => table.time[o]![s]![c]))));
  return table.ranks.map((rank, r) => {
    if (!named.has(rank)) return null;
    const own = table.time[r]!;
    const isLate = totals((c) =>
      Number(OWN_CLASSES.includes(c) && excessOf(own, usual, c) > PART_OF_DELAY * table.recorded),
    );
    if (TIME_CLASSES.every((c) => isLate[c] === 0)) return null;
    return own.map((time, s) =>
      Float64Array.from(TIME_CLASSES, (c) =>
        isLate[c] === 1 && time[c] > 0 ? Math.min(1, usual[s]![c] / time[c]) : 1,
      ),
    );
  });
}

/** ns per step of a class beyond the usual: the mean, or the worst step spread over all if that is more. */
function excessOf(own: readonly TimeByClass[], usual: readonly TimeByClass[], c: TimeClass): number {
  const inSteps = own.map((time, s) => time[c] - usual[s]![c]);
  return Math.max(mean(inSteps), largest(inSteps) / inSteps.length);
}

const CLASSES = TIME_CLASSES.length;

/** ns of segment `i` of rank `r` without the delay. */
function shortened(
  { timeline, steps }: PathRank,
  plan: RunPlan,
  r: number,
  i: number,
  factors: readonly Float64Array[] | null,
): number {
  const { firstSegment, duration } = plan.ranks[r]!;
  if (!factors) return duration[i]!;
  const s = firstSegment + i;
  const middle = (timeline.start[s]! + timeline.end[s]!) / 2;
  const step = steps.findIndex((own) => middle >= timeline.stepFrom[own]! && middle <= timeline.stepTo[own]!);
  if (step < 0) return duration[i]!;
  let kept = 0;
  let all = 0;
  for (let c = 0; c < CLASSES; c++) {
    const ns = timeline.classes[s * CLASSES + c]!;
    all += ns;
    kept += ns * factors[step]![c]!;
  }
  return all > 0 ? (duration[i]! * kept) / all : duration[i]!;
}

/** Hidden or not, transfers in one stream take their time one after the other. ns. */
function busiestStream(plan: RunPlan): number {
  return largest(
    plan.ranks.map(({ slots }) => {
      const sums = new Float64Array(slots.length);
      let most = 0;
      for (let slot = 0; slot < slots.length; slot++) {
        const collective = slots.collective[slot]!;
        const own = collective < 0 ? 0 : plan.transfer[collective]!;
        const before = slots.before[slot]!;
        sums[slot] = own + (before < 0 ? 0 : sums[before]!);
        most = Math.max(most, sums[slot]!);
      }
      return most;
    }),
  );
}
