import { constants } from 'node:zlib';
import { type InsideZlib, insideGunzip } from './inside-zlib.js';

/** A gunzip that works in the calling thread, into memory of the caller. */
export class SyncGunzip {
  readonly #zlib: InsideZlib;
  failed = false;
  /** Bytes of the last input that were not used. */
  left = 0;

  /** Null: this Node may work differently inside. */
  static create(): SyncGunzip | null {
    const zlib = insideGunzip();
    return zlib && new SyncGunzip(zlib);
  }

  private constructor(zlib: InsideZlib) {
    this.#zlib = zlib;
    zlib._handle.onerror = () => {
      this.failed = true;
    };
  }

  /** Starts again with other data. */
  reset(): void {
    this.#zlib.reset();
    this.failed = false;
    this.left = 0;
  }

  /** Inflates from[start..] into to[at..]; returns how many bytes came out. Check `failed` and `left`. */
  inflate(from: Uint8Array, start: number, to: Uint8Array, at: number): number {
    return this.#write(constants.Z_NO_FLUSH, from, start, to, at);
  }

  /** Whether the data ended where the input ended. Call with a little room. */
  isComplete(room: Uint8Array): boolean {
    return this.#write(constants.Z_FINISH, room, room.length, room, 0) === 0 && !this.failed;
  }

  #write(flush: number, from: Uint8Array, start: number, to: Uint8Array, at: number): number {
    const { _handle, _writeState } = this.#zlib;
    const room = to.length - at;
    _handle.writeSync(flush, from, start, from.length - start, to, at, room);
    if (this.failed) return 0;
    this.left = _writeState[1]!;
    return room - _writeState[0]!;
  }
}
