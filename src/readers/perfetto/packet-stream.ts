import { inflateSync } from 'node:zlib';
import type { PerfettoFaults } from './faults.js';
import { FieldSize, NO_FIELD, NOT_KNOWN_YET } from './field-size.js';
import { TRACE } from './fields.js';
import { MessageReader } from './wire.js';

/** A packet is held whole. The largest ones hold all names of a trace, which takes tens of MB. */
const MAX_PACKET = 256 << 20;
/** What the SDK packs into one packet is far smaller. */
const MAX_INFLATED = 64 << 20;

/** `at`: position in the decoded file. */
type OnPacket = (buffer: Uint8Array, from: number, to: number, at: number) => void;

/** Cuts a trace into its packets, from chunks of any size. Holds at most one packet that is not complete. */
export class PacketStream {
  readonly #onPacket: OnPacket;
  readonly #faults: PerfettoFaults;
  readonly #size = new FieldSize(MAX_PACKET);
  /** Bytes of a packet that is not complete. */
  #held = new Uint8Array(0);
  #heldBytes = 0;
  /** No packet is complete before so many bytes are held. */
  #needed = 0;
  /** Of the first byte that is held, or of the next chunk. */
  #position = 0;
  /** Packed packets hold no packed packets. */
  #isUnpacking = false;
  /** The rest of the file makes no sense. */
  isBroken = false;

  constructor(onPacket: OnPacket, faults: PerfettoFaults) {
    this.#onPacket = onPacket;
    this.#faults = faults;
  }

  push(chunk: Uint8Array): void {
    if (this.isBroken) return;
    if (this.#heldBytes === 0) return this.#keep(chunk, this.#read(chunk, chunk.length));
    this.#hold(chunk);
    if (this.#heldBytes < this.#needed) return;
    const all = this.#held.subarray(0, this.#heldBytes);
    this.#heldBytes = 0;
    this.#keep(all, this.#read(all, all.length));
  }

  /** After the last chunk: it ends inside a packet. */
  get isCut(): boolean {
    return this.#heldBytes > 0 && !this.isBroken;
  }

  /** Call once, after the last chunk. */
  finish(): void {
    if (this.isCut) this.#faults.add('truncated-trace', this.#position);
  }

  #keep(from: Uint8Array, read: number): void {
    this.#position += read;
    if (read < from.length && !this.isBroken) this.#hold(from.subarray(read));
  }

  #hold(more: Uint8Array): void {
    const size = this.#heldBytes + more.length;
    if (size > this.#held.length) {
      const grown = new Uint8Array(Math.max(2 * size, 1 << 16));
      grown.set(this.#held.subarray(0, this.#heldBytes));
      this.#held = grown;
    }
    // May be a part of what is held: `set` copies as if there were a second copy.
    this.#held.set(more, this.#heldBytes);
    this.#heldBytes = size;
  }

  /** Hands out the packets that are complete; returns the bytes that were read. */
  #read(b: Uint8Array, end: number): number {
    let at = 0;
    while (at < end) {
      const size = this.#size.at(b, at, end);
      // A trace has no other field.
      if (size === NO_FIELD || b[at] !== TRACE.packet) {
        this.isBroken = true;
        this.#faults.add('broken-stream', this.#position + at);
        return at;
      }
      if (size === NOT_KNOWN_YET) break;
      if (at + size > end) {
        this.#needed = size;
        return at;
      }
      this.#onPacket(b, this.#size.content, at + size, this.#position + at);
      at += size;
    }
    this.#needed = 0;
    return at;
  }

  /** Hands out the packets that another packet holds, packed with zlib. */
  unpack(packed: Uint8Array, at: number): void {
    const inner = this.#isUnpacking ? null : inflated(packed);
    if (inner === null) return this.#faults.add('bad-compression', at);
    this.#isUnpacking = true;
    const trace = new MessageReader().open(inner, 0, inner.length);
    while (trace.next()) if (trace.key === TRACE.packet) this.#onPacket(inner, trace.from, trace.to, at);
    this.#isUnpacking = false;
    if (trace.isBroken) this.#faults.add('bad-compression', at);
  }
}

function inflated(packed: Uint8Array): Uint8Array | null {
  try {
    return inflateSync(packed, { maxOutputLength: MAX_INFLATED });
  } catch {
    return null;
  }
}
