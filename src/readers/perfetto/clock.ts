import type { MessageReader } from './wire.js';

const TWO_32 = 2 ** 32;

/** A time of 64 bits: ns since 1970 do not fit a double, so it is us * 1000 + ns. */
export class TimeStamp {
  us = Number.NaN;
  ns = 0;
  /** The first time of the trace. */
  #baseUs = Number.NaN;
  #baseNs = 0;

  /** Of a packet that has none. */
  clear(): void {
    this.us = Number.NaN;
    this.ns = 0;
  }

  /** The number that `message` has read last. */
  set({ high, low }: MessageReader): void {
    // high * 2^32 + low, divided in two steps that a double holds.
    const rest = (high % 1000) * TWO_32 + low;
    this.us = Math.floor(high / 1000) * TWO_32 + Math.floor(rest / 1000);
    this.ns = rest % 1000;
    if (!Number.isNaN(this.#baseUs)) return;
    this.#baseUs = this.us;
    this.#baseNs = this.ns;
  }

  /** ns since the first time of the trace. */
  get fromBase(): number {
    return (this.us - this.#baseUs) * 1000 + (this.ns - this.#baseNs);
  }
}
