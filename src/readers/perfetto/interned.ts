import { latin1 } from '../common/text.js';
import type { Argument, ArgumentKeys } from './argument-keys.js';
import { ENTRY, INTERNED } from './fields.js';
import type { Tokens } from './tokens.js';
import { MessageReader } from './wire.js';

/** Names of stages and queues are short. */
const MAX_SPECIFICATION = 256;

/** What one writer of a trace gave numbers to: names are written once and then named by their number. */
export class Interned {
  /** Ids of strings. */
  readonly names = new Map<number, number>();
  readonly categories = new Map<number, number>();
  readonly annotationTexts = new Map<number, number>();
  readonly kernels = new Map<number, number>();
  readonly annotationNames = new Map<number, Argument>();
  readonly launchArguments = new Map<number, Argument>();
  /** Stages and queues of GPUs. */
  readonly specifications = new Map<number, string>();
  /** Of events that name none. */
  defaultTrack = Number.NaN;
}

/** Reads InternedData. False: it is broken. */
export class InternedReader {
  readonly #data = new MessageReader();
  readonly #entry = new MessageReader();

  constructor(
    readonly tokens: Tokens,
    readonly keys: ArgumentKeys,
  ) {}

  read(packet: MessageReader, from: number, to: number, into: Interned): boolean {
    const data = this.#data.open(packet.buffer, from, to);
    while (data.next()) {
      switch (data.key) {
        case INTERNED.names:
          this.#texts(data, into.names);
          break;
        case INTERNED.categories:
          this.#texts(data, into.categories);
          break;
        case INTERNED.annotationTexts:
          this.#texts(data, into.annotationTexts);
          break;
        case INTERNED.kernels:
          this.#texts(data, into.kernels);
          break;
        case INTERNED.annotationNames:
          this.#arguments(data, into.annotationNames);
          break;
        case INTERNED.argumentNames:
          this.#arguments(data, into.launchArguments);
          break;
        case INTERNED.specifications:
          this.#specification(data, into);
          break;
      }
    }
    return !data.isBroken;
  }

  #texts(data: MessageReader, into: Map<number, number>): void {
    const { id, from, to } = this.#fields(data);
    if (!Number.isNaN(id)) into.set(id, this.tokens.ofBytes(data.buffer, from, to));
  }

  #arguments(data: MessageReader, into: Map<number, Argument>): void {
    const { id, from, to } = this.#fields(data);
    if (!Number.isNaN(id)) into.set(id, this.keys.find(data.buffer, from, to));
  }

  #specification(data: MessageReader, into: Interned): void {
    const { id, from, to } = this.#fields(data);
    const text = latin1(data.buffer, from, Math.min(to, from + MAX_SPECIFICATION));
    if (!Number.isNaN(id)) into.specifications.set(id, text);
  }

  /** NaN: the entry has no number, or is broken. */
  #fields(data: MessageReader): { readonly id: number; readonly from: number; readonly to: number } {
    const entry = this.#entry.openIn(data);
    let id = Number.NaN;
    let [from, to] = [0, 0];
    while (entry.next()) {
      if (entry.key === ENTRY.id) id = entry.unsigned;
      // Kernels may have a readable name in addition to the other.
      else if (entry.key === ENTRY.demangled || (entry.key === ENTRY.text && to === 0))
        [from, to] = [entry.from, entry.to];
    }
    return { id: entry.isBroken ? Number.NaN : id, from, to };
  }
}
