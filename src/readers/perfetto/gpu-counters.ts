import { type Argument, CODE, FLAG } from './argument-keys.js';
import { COUNTER, COUNTERS } from './fields.js';
import type { Interned } from './interned.js';
import type { EventTools } from './track-events.js';
import { MessageReader } from './wire.js';

const PHASE_C = 'C'.charCodeAt(0);
const VALUE: Argument = { code: CODE.sample, flags: FLAG.none };

/** GpuCounterEvents: samples of a GPU's counters, as the rows that the JSON of the same trace gives. */
export class GpuCounterReader {
  readonly #event = new MessageReader();
  readonly #counter = new MessageReader();
  readonly #tools: EventTools;

  constructor(tools: EventTools) {
    this.#tools = tools;
  }

  /** False: it is broken. `flush`: makes room for another row. */
  read(buffer: Uint8Array, from: number, to: number, interned: Interned, flush: () => void): boolean {
    const descriptor = this.#descriptor(buffer, from, to);
    const known = interned.counters.get(descriptor);
    // Descriptors inside the event are of other programs.
    if (!known) return !this.#event.isBroken;
    const { row, args, tokens, time } = this.#tools;
    const event = this.#event.open(buffer, from, to);
    while (event.next()) {
      if (event.key !== COUNTERS.counter) continue;
      const counter = this.#counter.openIn(event);
      let [id, value] = [Number.NaN, Number.NaN];
      while (counter.next()) {
        if (counter.key === COUNTER.id) id = counter.unsigned;
        else if (counter.key === COUNTER.int) value = counter.signed;
        else if (counter.key === COUNTER.double) value = counter.double;
      }
      const name = known.names.get(id) ?? 0;
      if (counter.isBroken || name === 0 || !Number.isFinite(value)) continue;
      if (row.isFull) flush();
      row.begin();
      args.begin();
      row.phase = PHASE_C;
      row.pid = tokens.ofText(`GPU ${known.gpu} Counters`);
      row.name = name;
      row.us = time.us;
      row.ns = time.ns;
      args.number(VALUE, value);
      row.finish();
    }
    return !event.isBroken;
  }

  #descriptor(buffer: Uint8Array, from: number, to: number): number {
    const event = this.#event.open(buffer, from, to);
    while (event.next()) if (event.key === COUNTERS.descriptor) return event.unsigned;
    return Number.NaN;
  }
}
