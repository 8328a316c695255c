import { latin1 } from '../common/text.js';
import type { EventRow } from '../common/trace-rows/event-row.js';
import { NO_ID, OPS, WIDE_FIELDS } from '../common/trace-rows/schema.js';
import { type Argument, CODE, KEY } from './argument-keys.js';
import type { Tokens } from './tokens.js';
import type { MessageReader } from './wire.js';

/** Longer texts are no numbers. */
const MAX_DIGITS = 40;
const NUMBER = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** Puts the arguments of one event where the model has them: the same places as for the JSON of the same trace. */
export class EventArguments {
  readonly #row: EventRow;
  readonly #tokens: Tokens;
  /** Of all arguments of the event: see FLAG. */
  flags = 0;
  stream = Number.NaN;
  memoryKind = '';
  /** `sm_90`. The same for all events, so it is kept. */
  arch = '';

  constructor(row: EventRow, tokens: Tokens) {
    this.#row = row;
    this.#tokens = tokens;
  }

  /** Before the first argument of an event. */
  begin(): void {
    this.flags = 0;
    this.stream = Number.NaN;
    this.memoryKind = '';
  }

  /** The whole number that `message` has read last. */
  integer(argument: Argument, message: MessageReader): void {
    this.#number(argument, message.signed, message.isExact ? null : message.signedText);
  }

  number(argument: Argument, value: number): void {
    this.#number(argument, value, null);
  }

  text(argument: Argument, b: Uint8Array, from: number, to: number): void {
    this.flags |= argument.flags;
    const { code } = argument;
    if (code === KEY.unknown) return;
    if (code < 0) return this.#own(code, b, from, to);
    if (this.#isToken(code))
      return this.#row.side.set((code >> 8) & 0xff, code & 0xff, this.#tokens.ofBytes(b, from, to));
    const whole = wholeNumber(b, from, to);
    if (whole >= 0) return this.#number(argument, whole, null);
    const text = to - from > MAX_DIGITS ? '' : latin1(b, from, to);
    // What JSON has as null is written as a text.
    if (text === 'null') return;
    if (NUMBER.test(text))
      this.#number(argument, Number(text), Number.isSafeInteger(Number(text)) ? null : text);
    else this.#keepWide(code, () => this.#tokens.writer.begin().quoted(b, from, to).view());
  }

  /** A list, or anything else whose JSON text is in the table of strings. */
  token(argument: Argument, token: number): void {
    this.flags |= argument.flags;
    const { code } = argument;
    if (code > 0 && this.#isToken(code)) this.#row.side.set((code >> 8) & 0xff, code & 0xff, token);
  }

  /** `wide`: all digits of a number that a double does not hold. */
  #number(argument: Argument, value: number, wide: string | null): void {
    this.flags |= argument.flags;
    const { code } = argument;
    if (code <= 0) return this.#ownNumber(code, value);
    if (code === CODE.stream) this.stream = value;
    const isId = wide === null && Number.isInteger(value) && value >= 0 && value < NO_ID;
    if (code === OPS.external || code === OPS.correlation) {
      if (!isId)
        this.#keepWide(code, () =>
          this.#tokens.writer
            .begin()
            .raw(wide ?? String(value))
            .view(),
        );
      else if (code === OPS.external) this.#row.external = value;
      else this.#row.correlation = value;
      return;
    }
    const { side } = this.#row;
    const table = (code >> 8) & 0xff;
    const column = code & 0xff;
    const type = side.typeOf(table, column);
    if (type === 'token') {
      const token =
        wide === null ? this.#tokens.ofNumber(value) : this.#tokens.writer.begin().raw(wide).finish();
      side.set(table, column, token);
    } else if (type === 'f64') side.set(table, column, value);
    else if (type === 'u32' ? isId : Number.isInteger(value) && Math.abs(value) < 2 ** 31)
      side.set(table, column, value);
    else
      this.#keepWide(code, () =>
        this.#tokens.writer
          .begin()
          .raw(wide ?? String(value))
          .view(),
      );
  }

  #isToken(code: number): boolean {
    return code >> 16 === OPS.side && this.#row.side.typeOf((code >> 8) & 0xff, code & 0xff) === 'token';
  }

  /** What its column cannot hold, as it would be written in JSON. */
  #keepWide(code: number, write: () => Uint8Array): void {
    const isSide = code >> 16 === OPS.side;
    // The entry exists although the value does not fit.
    if (isSide) this.#row.side.touch((code >> 8) & 0xff);
    const field = isSide
      ? WIDE_FIELDS.side + (code & 0xffff)
      : code === OPS.external
        ? WIDE_FIELDS.external
        : WIDE_FIELDS.correlation;
    const text = write();
    this.#row.keepWide(field, text, 0, text.length);
  }

  #own(code: number, b: Uint8Array, from: number, to: number): void {
    const text = latin1(b, from, Math.min(to, from + MAX_DIGITS));
    if (code === KEY.memoryKind) this.memoryKind = text;
    else if (code === KEY.arch) this.arch = text;
  }

  #ownNumber(code: number, value: number): void {
    if (code === KEY.memoryKind) this.memoryKind = String(value);
  }
}

/** A plain number of up to 15 digits, which most are; -1 for anything else. */
function wholeNumber(b: Uint8Array, from: number, to: number): number {
  if (to - from > 15 || to === from) return -1;
  let value = 0;
  for (let i = from; i < to; i++) {
    const digit = b[i]! - 0x30;
    if (digit < 0 || digit > 9) return -1;
    value = value * 10 + digit;
  }
  return value;
}
