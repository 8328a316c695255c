/** Inflates one file on libuv's thread pool, some chunks ahead of its reader. */
export interface Inflater {
  next(): Promise<Inflated>;
  /** The memory of a chunk, to be used again. Null: the reader keeps it. */
  answer(memory: Memory | null): void;
  /** Resolves when nothing reads the file any more. */
  close(): Promise<void>;
}

export type Inflated =
  | {
      readonly type: 'chunk';
      readonly memory: Memory;
      readonly length: number;
      /** Stored bytes that went into all chunks so far. */
      readonly consumed: number;
    }
  /** `isComplete` is false if something was odd: a fault, a cut, bytes after the data, or a Node that nobody has tried. */
  | { readonly type: 'end'; readonly isComplete: boolean };

export type Memory = Uint8Array<ArrayBuffer>;
