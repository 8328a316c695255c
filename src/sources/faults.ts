import { type Position, ProblemLog, type ProblemText } from '../base/problem.js';

/**
 * Where the layers of one file put the problems they meet. A problem belongs to the member that is being read; what
 * happens between members is loose and belongs to the file.
 */
export class Faults {
  readonly loose = new ProblemLog();
  #current = new ProblemLog();

  add(code: string, text: ProblemText, storedByte: number | null = null): void {
    const first: Position | null = storedByte === null ? null : { unit: 'stored-byte', at: storedByte };
    this.#current.add(code, text, first);
  }

  /** The log for the member that starts here, with what was met on the way to its first byte. */
  begin(): ProblemLog {
    return this.#current;
  }

  /** The member is over: what comes now is not its fault. */
  end(): void {
    this.#current = new ProblemLog();
  }

  /** What was met since the last member belongs to the file. */
  settle(): void {
    this.loose.addAll(this.#current.list());
    this.#current = new ProblemLog();
  }
}
