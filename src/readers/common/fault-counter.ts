import type { Position, Problem, ProblemText } from '../../base/problem.js';

/**
 * Counts the faults that a reader tolerates, by code, with the place of the first. Cheaper per repeat than
 * `ProblemLog`, which copies: with gradient accumulation most records of an event log may be duplicates.
 */
export class FaultCounter<Code extends string> {
  readonly #texts: Readonly<Record<Code, ProblemText>>;
  readonly #unit: Position['unit'];
  readonly #seen = new Map<Code, { count: number; readonly first: Position | null }>();

  constructor(texts: Readonly<Record<Code, ProblemText>>, unit: Position['unit']) {
    this.#texts = texts;
    this.#unit = unit;
  }

  /** `at`: the line, row or byte; null where a position makes no sense. */
  add(code: Code, at: number | null, count = 1): void {
    const seen = this.#seen.get(code);
    if (seen) seen.count += count;
    else this.#seen.set(code, { count, first: at === null ? null : { unit: this.#unit, at } });
  }

  list(): readonly Problem[] {
    return [...this.#seen].map(([code, { count, first }]) => {
      const { message, consequence } = this.#texts[code];
      return { code, count, message, consequence, first };
    });
  }
}
