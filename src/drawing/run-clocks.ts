/** A rank's clock as the comparison of ranks found it (`RankClock`). Null if ranks share no timed collective. */
export interface ComparedClock {
  readonly rank: number;
  readonly component: number;
  readonly reference: number;
  readonly shift: number;
  readonly drift: number;
  readonly pivot: number;
}

interface RecordedRank {
  readonly rank: number;
  readonly from: number;
  readonly baseNs: bigint;
}

/** Recordings of one job do not begin this far apart: the clocks count from different times. One hour. */
const FAR_APART = 3600e9;

/**
 * One clock for all ranks, from the earliest event on. Ranks that meet in collectives are aligned by them, others by the
 * clocks of their machines. `unaligned`: ranks whose clock says nothing; they begin with the others.
 */
export function runClocks(ranks: readonly RecordedRank[], compared: readonly ComparedClock[]) {
  const byRank = new Map(ranks.map((r) => [r.rank, r]));
  const clockOf = new Map(compared.map((c) => [c.rank, c]));
  const first = compared.find((c) => c.component === 0 && byRank.has(c.reference));
  const zero = byRank.get(first?.reference ?? ranks[0]?.rank ?? 0)?.baseNs ?? 0n;
  const clocks = new Map<number, RunClock>();
  for (const { rank, baseNs } of ranks) {
    const clock = clockOf.get(rank);
    const reference = clock && byRank.get(clock.reference);
    const base = Number((reference?.baseNs ?? baseNs) - zero);
    const { shift = 0, drift = 0, pivot = 0 } = (reference && clock) ?? {};
    clocks.set(rank, { rate: 1 + drift, shift: base + shift - drift * pivot });
  }
  const begins = ranks.map((r) => ({ rank: r.rank, at: toRun(clocks.get(r.rank)!, r.from) }));
  const anchor = begins.find((b) => clockOf.get(b.rank)?.component === 0)?.at ?? begins[0]?.at ?? 0;
  const unaligned = begins.filter((b) => Math.abs(b.at - anchor) > FAR_APART);
  for (const { rank, at } of unaligned) moveBy(clocks, rank, anchor - at);
  let earliest = Number.POSITIVE_INFINITY;
  for (const r of ranks) earliest = Math.min(earliest, toRun(clocks.get(r.rank)!, r.from));
  for (const { rank } of ranks) moveBy(clocks, rank, -earliest);
  return { clocks, unaligned: unaligned.map((u) => u.rank) };
}

function moveBy(clocks: Map<number, RunClock>, rank: number, by: number): void {
  const { rate, shift } = clocks.get(rank)!;
  clocks.set(rank, { rate, shift: shift + by });
}

/** From a rank's own times to the run's: `run = own * rate + shift`. */
export interface RunClock {
  readonly rate: number;
  readonly shift: number;
}

export const toRun = ({ rate, shift }: RunClock, own: number): number => own * rate + shift;
export const toOwn = ({ rate, shift }: RunClock, run: number): number => (run - shift) / rate;
