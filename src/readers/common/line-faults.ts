import type { Problem, ProblemText } from '../../base/problem.js';

/** The words shown for each fault that a reader tolerates. */
export type FaultWords<Code extends string> = Readonly<Record<Code, ProblemText>>;

/**
 * Counts faults of a text by code, with the line of the first. Cheaper per repeat than `ProblemLog`, which copies: with
 * gradient accumulation most records of an events log may be duplicates.
 */
export class LineFaults<Code extends string> {
  readonly #words: FaultWords<Code>;
  readonly #seen = new Map<Code, { count: number; readonly line: number }>();

  constructor(words: FaultWords<Code>) {
    this.#words = words;
  }

  add(code: Code, line: number, count = 1): void {
    const seen = this.#seen.get(code);
    if (seen) seen.count += count;
    else this.#seen.set(code, { count, line });
  }

  list(): readonly Problem[] {
    return [...this.#seen].map(([code, { count, line }]) => ({
      ...{ code, count, ...this.#words[code] },
      first: { unit: 'line', at: line },
    }));
  }
}
