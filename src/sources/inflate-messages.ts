import type { MessagePort } from 'node:worker_threads';

/** What the thread needs that inflates a file. */
export interface InflateTask {
  readonly fd: number;
  readonly port: MessagePort;
  readonly counters: Int32Array;
}

/**
 * Positions in `counters`: how many messages the thread has sent, and how many chunks the reader has answered. Messages are
 * taken from the port without the event loop; to wait for one is to wait for its count.
 */
export const SENT = 0;
export const ANSWERED = 1;

export type FromInflater =
  | {
      readonly type: 'chunk';
      /** Moved between the threads, never shared: V8 copies shared memory several times as slowly. */
      readonly memory: Uint8Array<ArrayBuffer>;
      readonly length: number;
      /** Stored bytes that went into all chunks so far. */
      readonly consumed: number;
    }
  /** `isComplete`: see `inflateInThread`. */
  | { readonly type: 'end'; readonly isComplete: boolean };

/** The memory of a chunk, to be used again. Null: the reader keeps it. */
export type ToInflater = Uint8Array<ArrayBuffer> | null;

/**
 * Chunks that inflating may be ahead. The thread starts before the code of the analysis is loaded, which takes as long as
 * inflating 60 MB or more; but memory is dear.
 */
export const MOST_AHEAD = 24;
/** The thread is woken after so many answers: to wake it for each interrupts the reader. A divisor of MOST_AHEAD. */
export const WAKE_EVERY = 4;

/** A thread that inflates one file. */
export interface Inflater {
  /** Undefined: the thread has failed. */
  next(): Promise<FromInflater | undefined>;
  answer(memory: ToInflater): void;
  /** Once it has ended the thread reads no more. Otherwise it is stopped. */
  close(hasEnded: boolean): Promise<void>;
}
