import { mean, median } from '../../base/statistics.js';
import { byCause, CAUSES, type RankTable } from '../table/rank-table.js';
import type { Cause } from './late-ranks.js';

/** An excess below this share of the step names no cause: it is within the noise. */
const LEAST_EXCESS = 0.01;

/** The cause in which the late ranks exceed the median of the others most. `steps`: indices; null: all. */
export function causeOf(table: RankTable, late: readonly number[], steps: readonly number[] | null): Cause {
  const counted = steps ?? [...table.steps.keys()];
  const totals = table.ranks.map((_, r) => {
    const sum = { data: 0, gpu: 0, compile: 0, host: 0 };
    for (const s of counted) {
      const own = byCause(table.time[r]![s]!, table.inputCopies[r]!);
      for (const c of CAUSES) sum[c] += own[c] / counted.length;
    }
    return sum;
  });
  const isLate = table.ranks.map((rank) => late.includes(rank));
  const excess = CAUSES.map((cause) => {
    const ofLate = mean(totals.filter((_, r) => isLate[r]).map((t) => t[cause]));
    return { cause, ns: ofLate - median(totals.filter((_, r) => !isLate[r]).map((t) => t[cause])) };
  });
  const most = excess.reduce((a, b) => (b.ns > a.ns ? b : a));
  if (table.onlyInputKnown && most.cause !== 'data') return 'unknown';
  return most.ns > LEAST_EXCESS * table.step ? most.cause : 'unknown';
}
