import { type Position, ProblemLog, type ProblemText } from '../base/problem.js';

/**
 * Collects the problems of one file, whatever layer finds them. A problem belongs to the member being read; one found
 * between members belongs to the file.
 */
export class Faults {
  readonly ofFile = new ProblemLog();
  #current = new ProblemLog();

  add(code: string, text: ProblemText, storedByte: number | null = null): void {
    const first: Position | null = storedByte === null ? null : { unit: 'stored-byte', at: storedByte };
    this.#current.add(code, text, first);
  }

  addTruncated(encoding: 'gzip' | 'zstd' | 'tar', storedByte: number): void {
    const message = `The ${encoding} data ends early: the file was cut short or is still being written.`;
    const consequence = 'Everything before the cut was read; the rest is missing.';
    this.add(`truncated-${encoding}`, { message, consequence }, storedByte);
  }

  addTrailing(encoding: 'gzip' | 'zstd', storedByte: number, loss = ''): void {
    const message = `Bytes that are not ${encoding} follow the ${encoding} data.`;
    this.add('trailing-garbage', { message, consequence: `They were ignored${loss}.` }, storedByte);
  }

  /** The log of the member that starts here, with the problems found on the way to its first byte. */
  beginMember(): ProblemLog {
    return this.#current;
  }

  endMember(): void {
    this.#current = new ProblemLog();
  }

  /** Assigns the problems found since the last member to the file. */
  assignToFile(): void {
    this.ofFile.addAll(this.#current.list());
    this.#current = new ProblemLog();
  }
}
