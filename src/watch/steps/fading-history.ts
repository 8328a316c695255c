import { median } from '../../base/statistics.js';
import type { StepSummary } from './step-summary.js';

/** A stretch of recorded steps. Sums over them, ms. */
export interface Stretch {
  first: number;
  last: number;
  /** Of recorded steps. */
  count: number;
  whole: number;
  own: number;
  phases: Map<string, number>;
}

/** Stretches of one size. Older ones are joined in pairs, so memory grows with the logarithm of the run. */
const OF_ONE_SIZE = 8;
const SMALLEST = 4;

/** What the steps of a rank were made of: the latest ones in detail, older ones ever more coarsely. */
export class FadingHistory {
  readonly #stretches: Stretch[] = [];

  add({ step, whole, phases }: StepSummary, own: number): void {
    const last = this.#stretches.at(-1);
    if (last && last.count < SMALLEST) {
      last.last = step;
      last.count++;
      last.whole += whole;
      last.own += own;
      addAll(last.phases, phases);
      return;
    }
    this.#stretches.push({ first: step, last: step, count: 1, whole, own, phases: new Map(phases) });
    this.#fade();
  }

  #fade(): void {
    // From the newest to the oldest, each size may have so many stretches.
    for (let at = this.#stretches.length - 2; at >= 0; ) {
      const size = this.#stretches[at]!.count;
      let first = at;
      while (first > 0 && this.#stretches[first - 1]!.count <= size) first--;
      if (at - first + 1 <= OF_ONE_SIZE) {
        at = first - 1;
        continue;
      }
      const [a, b] = [this.#stretches[first]!, this.#stretches[first + 1]!];
      this.#stretches.splice(first, 2, join(a, b));
      at = first - 1;
    }
  }

  get stretches(): readonly Stretch[] {
    return this.#stretches;
  }

  /** Means per step: of the last `most` stretches that ended before `step`, or of all that began at or after it. */
  before(step: number, most = 12): Stretch | null {
    const old = this.#stretches.filter((s) => s.last < step);
    return withoutPauses(old.slice(-most)).reduce<Stretch | null>((sum, s) => (sum ? join(sum, s) : s), null);
  }
  since(step: number): Stretch | null {
    const late = this.#stretches.filter((s) => s.first >= step);
    const kept = late.length > 0 ? late : this.#stretches.slice(-1);
    return withoutPauses(kept).reduce<Stretch | null>((sum, s) => (sum ? join(sum, s) : s), null);
  }
}

/** Fewer do not show what is usual. */
const LEAST_STRETCHES = 4;
const FAR = 3;

/** A long pause inside one step is not what the steps around it are made of. */
function withoutPauses(stretches: readonly Stretch[]): readonly Stretch[] {
  if (stretches.length < LEAST_STRETCHES) return stretches;
  const usual = median(stretches.map((s) => s.own / s.count));
  const kept = stretches.filter((s) => s.own / s.count <= FAR * usual);
  return kept.length > 0 ? kept : stretches;
}

function addAll(to: Map<string, number>, from: ReadonlyMap<string, number>): void {
  for (const [name, ms] of from) to.set(name, (to.get(name) ?? 0) + ms);
}

function join(a: Stretch, b: Stretch): Stretch {
  const phases = new Map(a.phases);
  addAll(phases, b.phases);
  return {
    first: a.first,
    last: b.last,
    count: a.count + b.count,
    whole: a.whole + b.whole,
    own: a.own + b.own,
    phases,
  };
}
