import { largest, mean, median } from '../../base/statistics.js';
import { type Ns, ns } from '../../base/units.js';
import { sumOfClasses, type TimeByClass } from '../../facts/time-class.js';
import type { RankTable } from '../table/rank-table.js';
import type { LateRanks } from './late-ranks.js';

/**
 * What late ranks are known to cost, of what they cost if nothing hides their delay. A backward pass sends gradients while it
 * goes on. A delay before it holds up all of them. A delay within it may come after the gradients were sent, and then costs
 * nothing; a log does not tell the two apart. Known are
 *
 * - what lies outside the pass;
 * - in the pass, what a rank takes longer that computes slower everywhere: it sends all gradients late. Not where it waited
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
