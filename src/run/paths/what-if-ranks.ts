import { largest, mean, median } from '../../base/statistics.js';
import { type Ns, ns } from '../../base/units.js';
import { TIME_CLASSES, type TimeByClass, type TimeClass, totals } from '../../facts/time-class.js';
import type { RankClock } from '../collectives/clocks.js';
import type { RankTable } from '../table/own-time.js';
import { type PathRank, runsOf } from './critical-path.js';
import type { Meetings } from './meetings.js';
import { type Change, playRun } from './play.js';
import { planRun, type RunPlan } from './run-plan.js';

/** The recorded steps of all ranks, to be played with something changed. */
export interface PlayedRun {
  /** ns a step as played without a change, and as measured. */
  readonly unchanged: Ns;
  readonly measured: Ns;
  /** Ns a step that it takes less without the delay of these ranks: what they take beyond the median of the others. */
  without(ranks: readonly number[]): Ns;
  /** The same without any rank's. */
  readonly withoutAny: Ns;
  /** Ns a step less when computing hides all transfers, as far as they are no longer than it. */
  readonly withOverlap: Ns;
}

/** A replay that does not reproduce the step prices nothing (method 4). */
const FAITHFUL = 0.05;
/** Of the step: a class that a rank has this much more of is part of its delay; less is noise. */
const PART_OF_DELAY = 0.01;
/** Communication is not the rank's own. */
const OWN: readonly TimeClass[] = TIME_CLASSES.filter(
  (c) => c !== 'comms_transfer' && c !== 'comms_wait' && c !== 'idle_comms',
);

/** Null where playing the run unchanged does not give the step within 5 %. `table.ranks` and `ranks` are parallel. */
export function prepareRun(
  ranks: readonly PathRank[],
  table: RankTable,
  meetings: Meetings,
  clocks: readonly RankClock[],
): PlayedRun | null {
  const runs = runsOf(ranks).map(([from, to]) => ({
    from,
    plan: planRun(ranks, meetings, [from, to], clocks),
  }));
  const play = (changeOf: (plan: RunPlan) => Change): Ns => {
    let sum = 0;
    for (const { plan } of runs) {
      const took = playRun(plan, changeOf(plan));
      if (!took) return ns(Number.NaN);
      // The last one: a rank whose collectives were hidden behind what it does less of now seems not to wait for them.
      sum += largest([...took]);
    }
    return ns(sum / table.steps.length);
  };
  const unchanged = play(() => ({}));
  const measured = table.step;
  if (!(Math.abs(unchanged / measured - 1) <= FAITHFUL)) return null;
  const saved = (changed: number) => ns(Math.max(0, ((unchanged - changed) * measured) / unchanged));
  const without = (named: readonly number[]) => {
    const factors = factorsOf(table, new Set(named));
    return saved(play((plan) => ({ own: (r, i) => shortened(ranks[r]!, plan, r, i, factors[r]!) })));
  };
  return {
    ...{ unchanged, measured, without },
    get withoutAny() {
      return without(table.ranks);
    },
    get withOverlap() {
      const floor = runs.reduce((sum, { plan }) => sum + busiestStream(plan), 0) / table.steps.length;
      return saved(
        Math.max(
          floor,
          play(() => ({ hidden: true })),
        ),
      );
    },
  };
}

/** By rank, step and class, what is left without the delay; null for ranks that stay as they are. */
function factorsOf(table: RankTable, named: ReadonlySet<number>): (readonly Float64Array[] | null)[] {
  const all = table.ranks.every((r) => named.has(r));
  const others = table.ranks.flatMap((rank, r) => (all || !named.has(rank) ? [r] : []));
  const usual = table.steps.map((_, s) => totals((c) => median(others.map((o) => table.time[o]![s]![c]))));
  return table.ranks.map((rank, r) => {
    if (!named.has(rank)) return null;
    const own = table.time[r]!;
    const isLate = totals((c) =>
      Number(OWN.includes(c) && excessOf(own, usual, c) > PART_OF_DELAY * table.step),
    );
    return own.map((time, s) =>
      Float64Array.from(TIME_CLASSES, (c) =>
        isLate[c] === 1 && time[c] > 0 ? Math.min(1, usual[s]![c] / time[c]) : 1,
      ),
    );
  });
}

/** ns a step of a class beyond the usual, or in the worst step if that is what stands out. */
function excessOf(own: readonly TimeByClass[], usual: readonly TimeByClass[], c: TimeClass): number {
  const inSteps = own.map((time, s) => time[c] - usual[s]![c]);
  return Math.max(mean(inSteps), largest(inSteps) / inSteps.length);
}

const CLASSES = TIME_CLASSES.length;

function shortened(
  { timeline, steps }: PathRank,
  plan: RunPlan,
  r: number,
  i: number,
  factors: readonly Float64Array[] | null,
): number {
  const { segment, duration } = plan.ranks[r]!;
  if (!factors) return duration[i]!;
  const s = segment[i]!;
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

/** However much is hidden, what moves through one stream takes its time. */
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
