import { createGunzip } from 'node:zlib';

/**
 * What zlib streams of Node have inside. Not documented, but unchanged since Node 11, and packages such as pngjs rely on it.
 * It is the only way to inflate into memory that is used again: fresh memory for every chunk takes a third of the time.
 */
export interface InsideZlib {
  readonly _handle: {
    /** In the calling thread. */
    writeSync(...from: WriteArguments): void;
    /** On libuv's thread pool, one at a time. Calls `cb` when it is done. The memory is not kept alive by it. */
    write(...from: WriteArguments): void;
    cb: () => void;
    onerror: (message: string) => void;
  };
  /** Left over after a write: room in the output, bytes of the input. */
  readonly _writeState: Uint32Array;
  reset(): void;
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
export function insideGunzip(): InsideZlib | null {
  const stream = createGunzip();
  const zlib = stream as unknown as Partial<InsideZlib>;
  const isKnown =
    KNOWN_NODES.includes(Number.parseInt(process.versions.node, 10)) &&
    typeof zlib._handle?.writeSync === 'function' &&
    typeof zlib._handle.write === 'function' &&
    zlib._writeState instanceof Uint32Array;
  if (!isKnown) return null;
  // The stream itself is not used. After a write it then only calls `cb`.
  Object.defineProperty(stream, 'destroyed', { value: true });
  return zlib as InsideZlib;
}
