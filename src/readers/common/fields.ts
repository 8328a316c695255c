import type { ProblemLog } from '../../base/problem.js';
import { asObject, type JsonObject } from './json-object.js';
import { clipped } from './text.js';

/** Longest text kept. Host names have at most 64 characters, run ids fewer. */
export const MAX_TEXT = 256;
/** Most entries kept of a list or table. */
export const MAX_ENTRIES = 256;

/**
 * Fields of an unchecked JSON object. A missing field is null; one of the wrong type is null and counted. `where`: what holds
 * it, for messages.
 */
export class Fields {
  constructor(
    readonly object: JsonObject,
    readonly problems: ProblemLog,
    readonly where: string,
  ) {}

  text(key: string): string | null {
    const value = this.#present(key);
    if (value === null) return null;
    if (Number.isFinite(value)) return String(value);
    return typeof value === 'string' ? this.#clipped(value) : this.wrong();
  }

  /** A whole number, 0 or more. */
  count(key: string): number | null {
    const value = this.#present(key);
    if (value === null) return null;
    return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : this.wrong();
  }

  /** The same, also as text: some launchers write ranks so. */
  countOrText(key: string): number | null {
    const value = this.object[key];
    return typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : this.count(key);
  }

  /** Any finite number: times in ns exceed the safe integers. */
  number(key: string): number | null {
    const value = this.#present(key);
    if (value === null) return null;
    return typeof value === 'number' && Number.isFinite(value) ? value : this.wrong();
  }

  flag(key: string): boolean | null {
    const value = this.#present(key);
    if (value === null) return null;
    return typeof value === 'boolean' ? value : this.wrong();
  }

  inside(key: string): Fields | null {
    const value = this.#present(key);
    if (value === null) return null;
    const object = asObject(value);
    return object ? new Fields(object, this.problems, this.where) : this.wrong();
  }

  list(key: string): readonly unknown[] | null {
    const value = this.#present(key);
    if (value === null) return null;
    return Array.isArray(value) ? value : this.wrong();
  }

  /** The whole numbers, 0 or more, in a list; other values are counted. */
  counts(key: string): readonly number[] {
    const all = this.list(key) ?? [];
    const kept = all.filter((v): v is number => Number.isSafeInteger(v) && (v as number) >= 0);
    noteWrong(this, all.length - kept.length);
    return kept;
  }

  /** The objects in a list; other values are counted. */
  each(values: readonly unknown[]): Fields[] {
    return values.flatMap((value) => {
      const object = asObject(value);
      if (!object) this.wrong();
      return object ? [new Fields(object, this.problems, this.where)] : [];
    });
  }

  /** Entries for which `take` gives a value. */
  table<T>(take: (fields: Fields, key: string) => T | null): Readonly<Record<string, T>> {
    const keys = Object.keys(this.object);
    if (keys.length > MAX_ENTRIES) this.#long();
    const entries = keys.slice(0, MAX_ENTRIES).flatMap((key) => {
      const value = take(this, key);
      return value === null ? [] : [[this.#clipped(key), value] as const];
    });
    return Object.fromEntries(entries);
  }

  #present(key: string): unknown {
    return Object.hasOwn(this.object, key) ? (this.object[key] ?? null) : null;
  }

  /** Counts a value that cannot be what it should be. */
  wrong(): null {
    noteWrong(this, 1);
    return null;
  }

  #clipped(text: string): string {
    if (text.length <= MAX_TEXT) return text;
    this.#long();
    return clipped(text, MAX_TEXT);
  }

  #long(): void {
    this.problems.add('long-field', {
      message: `A text in ${this.where} has more than ${MAX_TEXT} characters, or a table has more entries.`,
      consequence: 'It is cut.',
    });
  }
}

function noteWrong({ problems, where }: Fields, count: number): void {
  const message = `A field of ${where} has a value of the wrong type, such as text for a rank.`;
  problems.add('wrong-type', { message, consequence: 'It counts as unknown.' }, null, count);
}
