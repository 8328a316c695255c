/** Values whose step is remembered. A change that began earlier is reported from the oldest of them. */
const MOST = 4096;

/** At which step, and when, the latest values of a series were taken. */
export class RecentSteps {
  readonly #steps = new Float64Array(MOST);
  readonly #times = new Float64Array(MOST);
  #count = 0;

  add(step: number, time: number): void {
    this.#steps[this.#count % MOST] = step;
    this.#times[this.#count % MOST] = time;
    this.#count++;
  }

  /** 1: the latest. `time`: ms since 1970; NaN if it is not known. */
  ago(age: number): { readonly step: number; readonly time: number } {
    const at = this.#count - Math.max(1, Math.min(age, this.#count, MOST));
    return { step: this.#steps[at % MOST]!, time: this.#times[at % MOST]! };
  }

  /** The first of them at or after a moment; the latest if there is none. */
  at(time: number): { readonly step: number; readonly time: number } {
    for (let age = Math.min(this.#count, MOST); age > 1; age--) {
      const found = this.ago(age);
      if (found.time >= time) return found;
    }
    return this.ago(1);
  }
}
