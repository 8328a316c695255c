/** How many times more often than before, to bet on. */
const TIMES = [4, 20];
/** Opportunities that pass before an event counts as usual. */
const HELD_BACK = 24;
const MOST_LIKELY = 0.5;
/** Opportunities before anything is judged. */
const LEARN = 16;
const ALL_BEGINNINGS = 2.2;

export interface RateChange {
  /** How many opportunities ago it began. */
  readonly age: number;
  /** Events since then. */
  readonly events: number;
}

/**
 * Whether something happens more often than before: pauses, saves. The same bets as in change-test.ts, on events instead of
 * values. `usual` is what is certain from before, so an event that comes every 500 opportunities is no news when it first comes.
 */
export class RateWatch {
  readonly #held: boolean[] = [];
  #opportunities = 0;
  #usualEvents = 0;
  #count = 0;
  #worth = TIMES.map(() => Number.NEGATIVE_INFINITY);
  #best = TIMES.map(() => ({ worth: 0, began: 0, events: 0 }));
  #changes = 0;

  constructor(readonly falseAlarm: number) {}

  add(happened: boolean): RateChange | null {
    this.#held.push(happened);
    if (this.#held.length > HELD_BACK) {
      this.#opportunities++;
      if (this.#held.shift() && this.#best.every((b) => b.worth <= 2)) this.#usualEvents++;
    }
    if (this.#opportunities < LEARN) return null;
    // The rate may be two standard errors above what was seen.
    const seen = this.#usualEvents + 1;
    const usual = Math.min(MOST_LIKELY / 2, (seen + 2 * Math.sqrt(seen)) / (this.#opportunities + 4));
    const begins = -Math.log(
      ALL_BEGINNINGS * TIMES.length * (this.#count + 2) * Math.log(this.#count + 2) ** 2,
    );
    let evidence = 0;
    for (const [i, times] of TIMES.entries()) {
      const likely = Math.min(MOST_LIKELY, times * usual);
      const gain = Math.log(happened ? likely / usual : (1 - likely) / (1 - usual));
      this.#worth[i] = Math.log(Math.exp(this.#worth[i]!) + Math.exp(begins)) + gain;
      const best = this.#best[i]!;
      if (best.worth <= 0) Object.assign(best, { worth: 0, began: this.#count, events: 0 });
      best.worth += gain;
      if (happened) best.events++;
      evidence += Math.exp(Math.min(600, this.#worth[i]!));
    }
    this.#count++;
    const n = this.#changes + 1;
    if (!happened || evidence < (n * (n + 1)) / this.falseAlarm) return null;
    const best = this.#best.reduce((a, b) => (b.worth > a.worth ? b : a));
    return { age: this.#count - best.began, events: best.events };
  }

  /** The change was reported: what happens now is usual. */
  settle(): void {
    this.#changes++;
    this.#usualEvents = 0;
    this.#opportunities = 0;
    this.#count = 0;
    this.#held.length = 0;
    this.#worth = TIMES.map(() => Number.NEGATIVE_INFINITY);
    this.#best = TIMES.map(() => ({ worth: 0, began: 0, events: 0 }));
  }
}
