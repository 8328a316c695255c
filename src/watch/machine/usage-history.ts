/** Intervals that are kept. The whole run is covered: neighbors are joined when there are more. */
const MOST_INTERVALS = 512;
/** A job that starts threads all the time must not fill the memory. */
const MOST_NAMES = 64;

interface Sum {
  sum: number;
  /** Seconds in which it was known. */
  seconds: number;
}

interface Interval {
  /** ms since 1970. */
  readonly from: number;
  readonly to: number;
  readonly sums: ReadonlyMap<string, Sum>;
}

/** What a machine did between two moments, on average. */
export interface Usage {
  readonly seconds: number;
  /** While it was known. NaN: it was not. */
  mean(name: string): number;
  /** Over the whole time: what was not seen was 0. */
  rate(name: string): number;
  readonly names: readonly string[];
}

/** Figures of a machine over a run of any length, in bounded memory: older ones as means of ever longer times. */
export class UsageHistory {
  #intervals: Interval[] = [];
  #least = 0;

  /** What was read before is left out: a file that was replaced is read again from its beginning. */
  get until(): number {
    return this.#intervals.at(-1)?.to ?? Number.NEGATIVE_INFINITY;
  }

  add(from: number, to: number, values: ReadonlyMap<string, number>): void {
    if (!(to > from) || from < this.until - 1) return;
    const seconds = (to - from) / 1000;
    const known = [...values].filter(([, value]) => Number.isFinite(value)).slice(0, MOST_NAMES);
    const sums = new Map(known.map(([name, value]) => [name, { sum: value * seconds, seconds }]));
    const last = this.#intervals.at(-1);
    if (last && last.to - last.from < this.#least)
      this.#intervals.splice(-1, 1, join(last, { from, to, sums }));
    else this.#intervals.push({ from, to, sums });
    if (this.#intervals.length > MOST_INTERVALS) this.#halve();
  }

  #halve(): void {
    const joined: Interval[] = [];
    for (let i = 0; i < this.#intervals.length; i += 2) {
      const [a, b] = [this.#intervals[i]!, this.#intervals[i + 1]];
      joined.push(b ? join(a, b) : a);
    }
    this.#intervals = joined;
    this.#least = joined.slice(0, -1).reduce((most, i) => Math.max(most, i.to - i.from), 0);
  }

  /** Of the intervals whose middle is between two moments, ms since 1970. Null: there is none. */
  between(from: number, to: number): Usage | null {
    const found = this.#intervals.filter((i) => {
      const middle = (i.from + i.to) / 2;
      return middle >= from && middle < to;
    });
    const [first, ...more] = found;
    if (!first) return null;
    const seconds = found.reduce((sum, i) => sum + (i.to - i.from) / 1000, 0);
    const { sums } = more.reduce(join, first);
    return {
      seconds,
      mean: (name) => {
        const sum = sums.get(name);
        return sum ? sum.sum / sum.seconds : Number.NaN;
      },
      rate: (name) => (sums.get(name)?.sum ?? 0) / seconds,
      names: [...sums.keys()],
    };
  }
}

function join(a: Interval, b: Interval): Interval {
  const sums = new Map([...a.sums].map(([name, s]) => [name, { ...s }]));
  for (const [name, { sum, seconds }] of b.sums) {
    const known = sums.get(name);
    if (known) {
      known.sum += sum;
      known.seconds += seconds;
    } else if (sums.size < MOST_NAMES) sums.set(name, { sum, seconds });
  }
  return { from: a.from, to: b.to, sums };
}
