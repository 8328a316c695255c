import type { StepSummary } from '../steps/step-summary.js';

/** Steps that wait for ranks that have not written them. A rank that died would hold up the others forever. */
const MOST_WAITING = 64;

/** Puts the same step of all ranks together. Ranks record the same steps, and write them at different times. */
export class AlignedSteps {
  readonly #waiting = new Map<number, Map<number, StepSummary>>();
  #last = Number.NEGATIVE_INFINITY;

  /** `ranks`: how many there are. Calls back for each step that is complete, or that waited long enough. */
  add(
    rank: number,
    step: StepSummary,
    ranks: number,
    done: (step: number, byRank: ReadonlyMap<number, StepSummary>) => void,
  ): void {
    // Too late: its step has been judged.
    if (step.step <= this.#last) return;
    let waiting = this.#waiting.get(step.step);
    if (!waiting) {
      waiting = new Map();
      this.#waiting.set(step.step, waiting);
    }
    waiting.set(rank, step);
    if (waiting.size >= ranks) this.#release(step.step, done);
    else if (this.#waiting.size > MOST_WAITING) this.#release(this.#oldest(), done);
  }

  flush(done: (step: number, byRank: ReadonlyMap<number, StepSummary>) => void): void {
    if (this.#waiting.size > 0)
      this.#release(
        [...this.#waiting.keys()].reduce((a, b) => Math.max(a, b)),
        done,
      );
  }

  restart(): void {
    this.#waiting.clear();
    this.#last = Number.NEGATIVE_INFINITY;
  }

  #oldest(): number {
    return [...this.#waiting.keys()].reduce((a, b) => Math.min(a, b));
  }

  /** Whatever is before a complete step will not be completed: ranks write in order. */
  #release(until: number, done: (step: number, byRank: ReadonlyMap<number, StepSummary>) => void): void {
    for (const step of [...this.#waiting.keys()].filter((s) => s <= until).sort((a, b) => a - b)) {
      const byRank = this.#waiting.get(step)!;
      this.#waiting.delete(step);
      this.#last = step;
      done(step, byRank);
    }
  }
}
