/**
 * An expected fault in the input. Such faults are data, not exceptions: how often one happened, where it was first seen,
 * and what it means for the result.
 */
export interface Problem {
  /** Stable kebab-case id, e.g. `truncated-gzip`. */
  readonly code: string;
  readonly count: number;
  /** What happened, one sentence. */
  readonly message: string;
  /** What it means for the figures, one sentence. */
  readonly consequence: string;
  /** Where it was first seen. Null: a position makes no sense. */
  readonly first: Position | null;
}

export interface Position {
  /** `byte` counts in the decompressed file, `stored-byte` in the file on disk. */
  readonly unit: 'byte' | 'stored-byte' | 'line' | 'row';
  readonly at: number;
}

export interface ProblemText {
  readonly message: string;
  readonly consequence: string;
}

/** At most this many things are named in one message. */
const MAX_NAMED = 5;

/** Collects problems by code: repeats are counted, the first position is kept. */
export class ProblemLog {
  readonly #byCode = new Map<string, Problem>();

  add(code: string, text: ProblemText, first: Position | null = null, count = 1): void {
    if (count <= 0) return;
    const seen = this.#byCode.get(code);
    this.#byCode.set(
      code,
      seen
        ? { ...seen, count: seen.count + count }
        : { code, count, message: text.message, consequence: text.consequence, first },
    );
  }

  /** One problem for several named things: all are counted, the first few are named. */
  addNamed(code: string, messages: readonly string[], consequence: string): void {
    const more = messages.length - MAX_NAMED;
    const message = messages.slice(0, MAX_NAMED).join('; ') + (more > 0 ? `; and ${more} more` : '');
    this.add(code, { message, consequence }, null, messages.length);
  }

  /** Adds problems found elsewhere, e.g. by another layer or thread. */
  addAll(problems: readonly Problem[]): void {
    for (const p of problems) this.add(p.code, p, p.first, p.count);
  }

  has(code: string): boolean {
    return this.#byCode.has(code);
  }

  list(): readonly Problem[] {
    return [...this.#byCode.values()];
  }
}
