import { constants, createGunzip } from 'node:zlib';

/**
 * What zlib streams of Node have inside. Not documented, but unchanged since Node 11, and packages such as pngjs rely on it.
 * It is the only way to inflate into memory that is used again: fresh memory for every chunk takes a third of the time.
 */
interface InsideZlib {
  readonly _handle: {
    writeSync(
      flush: number,
      from: Uint8Array,
      fromStart: number,
      fromLength: number,
      to: Uint8Array,
      toStart: number,
      toLength: number,
    ): void;
    onerror: (message: string) => void;
  };
  /** Left over after a write: room in the output, bytes of the input. */
  readonly _writeState: Uint32Array;
  reset(): void;
}

/** Tried with these. In another one a changed call may end the process, so it is not tried there. */
const KNOWN_NODES = [20, 22, 24, 26];

/** A gunzip that works in the calling thread, into memory of the caller. */
export class SyncGunzip {
  readonly #zlib: InsideZlib;
  failed = false;
  /** Bytes of the last input that were not used. */
  left = 0;

  /** Null: this Node may work differently inside. */
  static create(): SyncGunzip | null {
    const zlib = createGunzip() as unknown as Partial<InsideZlib>;
    const isKnown =
      KNOWN_NODES.includes(Number.parseInt(process.versions.node, 10)) &&
      typeof zlib._handle?.writeSync === 'function' &&
      zlib._writeState instanceof Uint32Array;
    return isKnown ? new SyncGunzip(zlib as InsideZlib) : null;
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
