import { sameBytes } from '../common/same-bytes.js';

/** A `code`: the event has ended and there is no value. Other codes are those of KeyTable. */
export const EVENT_END = -1;

/** Limits, so that a file with endless different keys does not fill the memory. */
const MAX_LITERALS = 8192;
const MAX_CHOICES = 48;
const MAX_LENGTH = 1024;

/** The text between two values that matter, such as `, "tid": `. */
export interface Literal {
  readonly bytes: Uint8Array;
  /** What to do with the value after it. */
  readonly code: number;
  /** Whether that value is an argument. */
  readonly inArgs: boolean;
  /** Literals seen after that value, the latest first. */
  readonly next: Literal[];
}

export function literal(bytes: Uint8Array, code: number, inArgs: boolean): Literal {
  return { bytes, code, inArgs, next: [] };
}

/**
 * A trace has a few dozen shapes of events, each written the same way every time. The literals between values are learned,
 * so that reading an event is mostly comparing bytes with those of an earlier event.
 */
export class Literals {
  /** Right after an event's '{'. */
  readonly root = literal(new Uint8Array(), 0, false);
  #count = 0;

  /** The literal at p, after the value of `before`. */
  match(before: Literal, b: Uint8Array, p: number): Literal | undefined {
    const choices = before.next;
    for (let i = 0; i < choices.length; i++) {
      const choice = choices[i]!;
      if (!sameBytes(choice.bytes, 0, choice.bytes.length, b, p)) continue;
      if (i > 0) {
        choices[i] = choices[0]!;
        choices[0] = choice;
      }
      return choice;
    }
    return undefined;
  }

  /** Adds b[from, to) after the value of `before`, if there is room. */
  learn(before: Literal, b: Uint8Array, from: number, to: number, code: number, inArgs: boolean): Literal {
    const learned = literal(b.slice(from, to), code, inArgs);
    if (this.#count < MAX_LITERALS && before.next.length < MAX_CHOICES && to - from <= MAX_LENGTH) {
      this.#count++;
      before.next.unshift(learned);
    }
    return learned;
  }
}
