import { largest } from '../../base/statistics.js';

/** Points of a line over the whole run. */
const MOST_POINTS = 240;

export interface PacePoint {
  first: number;
  last: number;
  /** Steps that it covers, and how long they took. */
  steps: number;
  ms: number;
  /** Outside steps meanwhile: saving, evaluating. */
  outsideMs: number;
}

/** The pace of a run of any length, as a line of a bounded number of points. Neighbors are joined when there are too many. */
export class PaceLine {
  #points: PacePoint[] = [];
  #least = 0;

  get points(): readonly PacePoint[] {
    return this.#points;
  }

  add(first: number, last: number, ms: number, outsideMs: number): void {
    const steps = last - first;
    const end = this.#points.at(-1);
    if (end && end.steps < this.#least) {
      end.last = last;
      end.steps += steps;
      end.ms += ms;
      end.outsideMs += outsideMs;
      return;
    }
    this.#points.push({ first, last, steps, ms, outsideMs });
    if (this.#points.length > MOST_POINTS) this.#halve();
  }

  #halve(): void {
    const joined: PacePoint[] = [];
    for (let i = 0; i < this.#points.length; i += 2) {
      const [a, b] = [this.#points[i]!, this.#points[i + 1]];
      joined.push(
        b
          ? {
              first: a.first,
              last: b.last,
              steps: a.steps + b.steps,
              ms: a.ms + b.ms,
              outsideMs: a.outsideMs + b.outsideMs,
            }
          : a,
      );
    }
    this.#points = joined;
    this.#least = largest(joined.slice(0, -1).map((p) => p.steps));
  }
}
