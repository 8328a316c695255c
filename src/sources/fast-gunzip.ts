import { read } from 'node:fs';
import { constants, createGunzip } from 'node:zlib';
import type { Progress } from './careful-decode.js';
import { CHUNK_BYTES, type Inflated, type Inflater, type Memory } from './extent.js';
import type { Lending } from './layer.js';

interface FastOutcome {
  /** Decoded bytes that were handed out. */
  readonly made: number;
  /** False: something is odd after them. The careful way then decodes from the start, skips them, and finds out what. */
  readonly isComplete: boolean;
}

/**
 * The fast way: decompresses a gzip file on libuv's thread pool, into memory that is used again. Fresh memory for every chunk
 * costs page faults in one thread and most of the garbage collections in the other. It gives up on anything odd.
 */
export async function* fastGunzip(
  inflater: Inflater,
  progress: Progress,
  lending: Lending,
): AsyncGenerator<Uint8Array, FastOutcome> {
  let made = 0;
  try {
    for (;;) {
      const message = await inflater.next();
      if (message.type === 'end') return { made, isComplete: message.isComplete };
      const { memory, length, consumed } = message;
      made += length;
      progress.consumed = consumed;
      if (length > 0) yield memory.subarray(0, length);
      inflater.answer(lending.isOn ? memory : null);
    }
  } finally {
    // The caller closes the file next.
    await inflater.close();
  }
}

/**
 * Chunks that may be filled or in use. The pool is given the next one when the event loop turns: with three it always has
 * one while the reader works on another.
 */
const CHUNKS = 3;

export function startInflater(fd: number): Inflater {
  const made: Inflated[] = [];
  const free = Array.from({ length: CHUNKS }, () => null as Memory | null);
  let isClosed = false;
  let wakeReader = () => {};
  let wakeWriter = () => {};
  const hand = (one: Inflated) => {
    made.push(one);
    wakeReader();
  };
  // Whatever goes wrong inside, the file is then decoded in the usual way.
  const writing = run().catch(() => hand({ type: 'end', isComplete: false }));

  async function run(): Promise<void> {
    const gunzip = PoolGunzip.create(fd);
    for (;;) {
      while (free.length === 0 && !isClosed) await new Promise<void>((resolve) => (wakeWriter = resolve));
      if (isClosed) break;
      const memory = free.pop() ?? new Uint8Array(CHUNK_BYTES);
      const { length, next } = gunzip ? await gunzip.fill(memory) : { length: 0, next: 'odd' };
      if (gunzip) hand({ type: 'chunk', memory, length, consumed: gunzip.consumed });
      if (next !== 'more') {
        hand({ type: 'end', isComplete: next === 'end' });
        break;
      }
    }
    await gunzip?.settled();
  }

  return {
    async next() {
      while (made.length === 0) await new Promise<void>((resolve) => (wakeReader = resolve));
      return made.shift()!;
    },
    answer(memory) {
      free.push(memory);
      wakeWriter();
    },
    async close() {
      isClosed = true;
      wakeWriter();
      await writing;
    },
  };
}

type Filled = { readonly length: number; readonly next: 'more' | 'end' | 'odd' };

/** A gunzip that works on the pool, into memory of the caller. */
class PoolGunzip {
  readonly #zlib: InsideZlib;
  readonly #input: Input;
  #failed = false;

  static create(fd: number): PoolGunzip | null {
    const zlib = insideGunzip();
    return zlib && new PoolGunzip(zlib, new Input(fd));
  }

  private constructor(zlib: InsideZlib, input: Input) {
    this.#zlib = zlib;
    this.#input = input;
    zlib._handle.onerror = () => {
      this.#failed = true;
      zlib._handle.cb();
    };
  }

  get consumed(): number {
    return this.#input.consumed;
  }

  async fill(memory: Memory): Promise<Filled> {
    const input = this.#input;
    for (let length = 0; ; ) {
      const stored = input.at < input.bytes.length ? 'more' : await input.refill();
      if (stored !== 'more') {
        const isEnd = stored === 'end' && (await this.#isComplete());
        return { length, next: isEnd ? 'end' : 'odd' };
      }
      const room = memory.length - length;
      const made = await this.#write(constants.Z_NO_FLUSH, input.bytes, input.at, memory, length);
      if (this.#failed) return { length, next: 'odd' };
      const left = this.#zlib._writeState[1]!;
      input.use(left);
      length += made;
      if (made === room) return { length, next: 'more' };
      // There was room, but zlib wants no more: zeros after the data.
      if (left > 0) return { length, next: 'odd' };
    }
  }

  settled(): Promise<void> {
    return this.#input.settled();
  }

  async #isComplete(): Promise<boolean> {
    const room = new Uint8Array(64);
    return (await this.#write(constants.Z_FINISH, room, room.length, room, 0)) === 0 && !this.#failed;
  }

  async #write(flush: number, from: Uint8Array, start: number, to: Uint8Array, at: number): Promise<number> {
    const { _handle, _writeState } = this.#zlib;
    const room = to.length - at;
    await new Promise<void>((resolve) => {
      _handle.cb = resolve;
      _handle.write(flush, from, start, from.length - start, to, at, room);
    });
    return this.#failed ? 0 : room - _writeState[0]!;
  }
}

/** The stored bytes. The next ones are read while these are inflated. */
class Input {
  readonly #fd: number;
  #read = 0;
  /** Null: it failed. */
  #reading: Promise<Memory | null>;
  bytes: Memory = new Uint8Array(CHUNK_BYTES).subarray(0, 0);
  /** The first byte of `bytes` that was not used. */
  at = 0;
  consumed = 0;

  constructor(fd: number) {
    this.#fd = fd;
    this.#reading = this.#readInto(new Uint8Array(CHUNK_BYTES));
  }

  async refill(): Promise<'more' | 'end' | 'odd'> {
    const bytes = await this.#reading;
    if (!bytes) return 'odd';
    const used = new Uint8Array(this.bytes.buffer);
    this.bytes = bytes;
    this.at = 0;
    if (bytes.length === 0) return 'end';
    this.#reading = this.#readInto(used);
    return 'more';
  }

  use(left: number): void {
    const used = this.bytes.length - this.at - left;
    this.at += used;
    this.consumed += used;
  }

  async settled(): Promise<void> {
    await this.#reading;
  }

  #readInto(memory: Memory): Promise<Memory | null> {
    return new Promise((resolve) => {
      read(this.#fd, memory, 0, memory.length, this.#read, (error, length) => {
        this.#read += length;
        resolve(error ? null : memory.subarray(0, length));
      });
    });
  }
}

/**
 * What zlib streams of Node have inside. Not documented, but unchanged since Node 11, and packages such as pngjs rely on it.
 * Node has no other way to decompress into memory that is used again. With its documented streams, `diagnose` of 200 MB takes
 * 3 to 5% longer and 134 MB instead of 115.
 */
interface InsideZlib {
  readonly _handle: {
    /** On libuv's thread pool, one at a time. Calls `cb` when it is done. The memory is not kept alive by it. */
    write(...from: WriteArguments): void;
    cb: () => void;
    onerror: (message: string) => void;
  };
  /** Left over after a write: room in the output, bytes of the input. */
  readonly _writeState: Uint32Array;
}

type WriteArguments = [
  flush: number,
  from: Uint8Array,
  fromStart: number,
  fromLength: number,
  to: Uint8Array,
  toStart: number,
  toLength: number,
];

/** Tried with these. In another one a changed call may end the process, so it is not tried there. */
const KNOWN_NODES = [20, 22, 24, 26];

/** A new gunzip. Null: this Node may work differently inside. */
function insideGunzip(): InsideZlib | null {
  const stream = createGunzip();
  const zlib = stream as unknown as Partial<InsideZlib>;
  const isKnown =
    KNOWN_NODES.includes(Number.parseInt(process.versions.node, 10)) &&
    typeof zlib._handle?.write === 'function' &&
    zlib._writeState instanceof Uint32Array;
  if (!isKnown) return null;
  // The stream itself is not used. After a write it then only calls `cb`.
  Object.defineProperty(stream, 'destroyed', { value: true });
  return zlib as InsideZlib;
}
