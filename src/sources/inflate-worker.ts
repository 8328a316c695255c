import { readSync } from 'node:fs';
import { receiveMessageOnPort, workerData } from 'node:worker_threads';
import { CHUNK_BYTES } from './extent.js';
import {
  ANSWERED,
  type FromInflater,
  type InflateTask,
  MOST_AHEAD,
  SENT,
  type ToInflater,
} from './inflate-messages.js';
import { SyncGunzip } from './inflate-sync.js';

/** A thread that inflates one gzip file and hands the chunks to the thread that reads it. */

const { fd, port, counters } = workerData as InflateTask;

function send(message: FromInflater, moved: ArrayBuffer[] = []): void {
  port.postMessage(message, moved);
  Atomics.add(counters, SENT, 1);
  Atomics.notify(counters, SENT);
}

/** Memory for the chunk with this number. Waits while the reader is too far behind. */
function memoryFor(chunk: number): Uint8Array<ArrayBuffer> {
  if (chunk < MOST_AHEAD) return new Uint8Array(CHUNK_BYTES);
  const needed = chunk - MOST_AHEAD + 1;
  for (let n = Atomics.load(counters, ANSWERED); n < needed; n = Atomics.load(counters, ANSWERED))
    Atomics.wait(counters, ANSWERED, n);
  const answer = receiveMessageOnPort(port)?.message as ToInflater | undefined;
  return answer ?? new Uint8Array(CHUNK_BYTES);
}

/** The stored bytes. */
class Input {
  readonly #buffer = new Uint8Array(CHUNK_BYTES);
  bytes = this.#buffer.subarray(0, 0);
  /** The first byte of `bytes` that was not used. */
  at = 0;
  consumed = 0;

  /** False at the end of the file. */
  refill(): boolean {
    const length = readSync(fd, this.#buffer, 0, this.#buffer.length, this.consumed);
    this.bytes = this.#buffer.subarray(0, length);
    this.at = 0;
    return length > 0;
  }

  use(left: number): void {
    const used = this.bytes.length - this.at - left;
    this.at += used;
    this.consumed += used;
  }
}

type Filled = { readonly length: number; readonly next: 'more' | 'end' | 'odd' };

function fill(memory: Uint8Array, gunzip: SyncGunzip, input: Input): Filled {
  for (let length = 0; ; ) {
    if (input.at === input.bytes.length && !input.refill())
      return { length, next: gunzip.isComplete(new Uint8Array(64)) ? 'end' : 'odd' };
    const room = memory.length - length;
    const made = gunzip.inflate(input.bytes, input.at, memory, length);
    if (gunzip.failed) return { length, next: 'odd' };
    input.use(gunzip.left);
    length += made;
    if (made === room) return { length, next: 'more' };
    // There was room, but zlib wants no more: zeros after the data.
    if (gunzip.left > 0) return { length, next: 'odd' };
  }
}

function inflateAll(gunzip: SyncGunzip): boolean {
  const input = new Input();
  for (let chunk = 0; ; chunk++) {
    const memory = memoryFor(chunk);
    const { length, next } = fill(memory, gunzip, input);
    send({ type: 'chunk', memory, length, consumed: input.consumed }, [memory.buffer]);
    if (next !== 'more') return next === 'end';
  }
}

const gunzip = SyncGunzip.create();
send({ type: 'end', isComplete: gunzip !== null && inflateAll(gunzip) });
