import { type Argument, type ArgumentKeys, KEY } from './argument-keys.js';
import type { EventArguments } from './event-arguments.js';
import { ANNOTATION } from './fields.js';
import type { Interned } from './interned.js';
import type { Tokens, TokenWriter } from './tokens.js';
import { MessageReader } from './wire.js';

/** Lists in lists. The shapes of lists of tensors have three levels. */
const MAX_DEPTH = 16;
const NO_ARGUMENT: Argument = { code: KEY.unknown, flags: 0 };

/** Reads DebugAnnotations: the arguments of events, by name, with typed values. */
export class AnnotationReader {
  readonly #levels = Array.from({ length: MAX_DEPTH + 1 }, () => new MessageReader());
  readonly #names = new MessageReader();

  constructor(
    readonly keys: ArgumentKeys,
    readonly into: EventArguments,
    readonly tokens: Tokens,
  ) {}

  /** The annotation that `event` has read last. False: it is broken. */
  read(event: MessageReader, interned: Interned): boolean {
    const { from, to, buffer } = event;
    const argument = this.#nameOf(buffer, from, to, interned);
    if (argument === null) return false;
    const fields = this.#levels[0]!.open(buffer, from, to);
    const { into } = this;
    let hasValue = false;
    while (fields.next()) {
      hasValue = true;
      switch (fields.key) {
        case ANNOTATION.bool:
          into.token(
            argument,
            this.tokens.writer
              .begin()
              .raw(fields.low === 0 ? 'false' : 'true')
              .finish(),
          );
          break;
        case ANNOTATION.int:
        case ANNOTATION.unsigned:
          into.integer(argument, fields);
          break;
        case ANNOTATION.double:
          into.number(argument, fields.double);
          break;
        case ANNOTATION.text:
        case ANNOTATION.json:
          into.text(argument, buffer, fields.from, fields.to);
          break;
        case ANNOTATION.textId:
          into.token(argument, interned.annotationTexts.get(fields.unsigned) ?? 0);
          break;
        case ANNOTATION.entry:
        case ANNOTATION.element:
          this.#nested(argument, buffer, from, to, interned);
          return true;
        default:
          hasValue = false;
      }
      if (hasValue) return true;
    }
    // A list or an object without elements has nothing at all.
    if (!fields.isBroken) into.token(argument, this.tokens.writer.begin().raw('[]').finish());
    return !fields.isBroken;
  }

  /** Null: the annotation is broken. Its name may come after its value. */
  #nameOf(buffer: Uint8Array, from: number, to: number, interned: Interned): Argument | null {
    const fields = this.#names.open(buffer, from, to);
    while (fields.next()) {
      if (fields.key === ANNOTATION.name) return this.keys.find(buffer, fields.from, fields.to);
      if (fields.key === ANNOTATION.nameId)
        return interned.annotationNames.get(fields.unsigned) ?? NO_ARGUMENT;
    }
    return fields.isBroken ? null : NO_ARGUMENT;
  }

  #nested(argument: Argument, buffer: Uint8Array, from: number, to: number, interned: Interned): void {
    if (argument.code === KEY.unknown) return this.into.token(argument, 0);
    const writer = this.tokens.writer.begin();
    this.#write(writer, buffer, from, to, 1, interned);
    this.into.token(argument, writer.finish());
  }

  /** The value of an annotation as JSON. */
  #write(
    writer: TokenWriter,
    buffer: Uint8Array,
    from: number,
    to: number,
    depth: number,
    interned: Interned,
  ): void {
    if (depth > MAX_DEPTH) return void writer.raw('null');
    const fields = this.#levels[depth]!.open(buffer, from, to);
    let close = '';
    let isEmpty = true;
    const separate = (open: string, end: string) => {
      writer.raw(close === '' ? open : ', ');
      close = end;
    };
    while (fields.next()) {
      const [start, stop] = [fields.from, fields.to];
      switch (fields.key) {
        case ANNOTATION.element:
          separate('[', ']');
          this.#write(writer, buffer, start, stop, depth + 1, interned);
          break;
        case ANNOTATION.entry:
          separate('{', '}');
          this.#writeName(writer, buffer, start, stop);
          this.#write(writer, buffer, start, stop, depth + 1, interned);
          break;
        case ANNOTATION.bool:
          writer.raw(fields.low === 0 ? 'false' : 'true');
          break;
        case ANNOTATION.int:
        case ANNOTATION.unsigned:
          writer.raw(fields.signedText);
          break;
        case ANNOTATION.double:
          writer.raw(Number.isFinite(fields.double) ? String(fields.double) : 'null');
          break;
        case ANNOTATION.text:
          writer.quoted(buffer, start, stop);
          break;
        default:
          continue;
      }
      isEmpty = false;
      if (close === '') return;
    }
    writer.raw(isEmpty ? '[]' : close);
  }

  #writeName(writer: TokenWriter, buffer: Uint8Array, from: number, to: number): void {
    const fields = this.#names.open(buffer, from, to);
    while (fields.next()) {
      if (fields.key !== ANNOTATION.name) continue;
      writer.quoted(buffer, fields.from, fields.to).raw(': ');
      return;
    }
    writer.raw('"": ');
  }
}
