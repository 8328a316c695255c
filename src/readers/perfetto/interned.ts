import { latin1 } from '../common/text.js';
import type { Argument, ArgumentKeys } from './argument-keys.js';
import { COUNTER_DESCRIPTOR, COUNTER_SPEC, COUNTER_SPECS, ENTRY, INTERNED } from './fields.js';
import type { Tokens } from './tokens.js';
import { MessageReader } from './wire.js';

/** Names of stages and queues are short. */
const MAX_SPECIFICATION = 256;
/** One pass of the hardware samples a few dozen. */
const MAX_COUNTERS = 4096;

export interface GpuCounters {
  readonly gpu: number;
  /** Ids of strings, by the number of the counter. */
  readonly names: ReadonlyMap<number, number>;
}

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
  /** Counters of GPUs, by the number of their descriptor. */
  readonly counters = new Map<number, GpuCounters>();
  /** Of events that name none. */
  defaultTrack = Number.NaN;
}

/** Reads InternedData. False: it is broken. */
export class InternedReader {
  readonly #data = new MessageReader();
  readonly #entry = new MessageReader();
  readonly #list = new MessageReader();
  readonly #spec = new MessageReader();

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
        case INTERNED.counters:
          this.#counters(data, into);
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

  #counters(data: MessageReader, into: Interned): void {
    const entry = this.#entry.openIn(data);
    const names = new Map<number, number>();
    let [id, gpu] = [Number.NaN, 0];
    while (entry.next()) {
      if (entry.key === COUNTER_DESCRIPTOR.id) id = entry.unsigned;
      else if (entry.key === COUNTER_DESCRIPTOR.gpu) gpu = entry.unsigned;
      else if (entry.key === COUNTER_DESCRIPTOR.specs) this.#specs(entry, names);
    }
    if (!entry.isBroken && !Number.isNaN(id)) into.counters.set(id, { gpu, names });
  }

  #specs(descriptor: MessageReader, names: Map<number, number>): void {
    const list = this.#list.openIn(descriptor);
    while (list.next()) {
      if (list.key !== COUNTER_SPECS.spec) continue;
      const spec = this.#spec.openIn(list);
      let [id, name] = [Number.NaN, 0];
      while (spec.next()) {
        if (spec.key === COUNTER_SPEC.id) id = spec.unsigned;
        else if (spec.key === COUNTER_SPEC.name) name = this.tokens.ofBytes(spec.buffer, spec.from, spec.to);
      }
      if (!spec.isBroken && !Number.isNaN(id) && names.size < MAX_COUNTERS) names.set(id, name);
    }
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
