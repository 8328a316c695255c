import { Worker } from 'node:worker_threads';
import type { MemberEnd, MemberStart } from './member-reader.js';
import { type MemberSink, type OnBytes, pourFile } from './read-file.js';
import { type TaskMember, type TaskResult, type Want, withoutInputErrors } from './task.js';
import type { FromWorker, ToWorker } from './worker.js';

/** Chunks of 1 MB under way to the other thread; enough to even out both sides, little enough for any machine. */
const MAX_CHUNKS = 12;

/** A thread that does one task at a time. */
export class TaskWorker {
  readonly #worker = new Worker(new URL('./worker.js', import.meta.url));
  #onMessage: (message: FromWorker) => void = () => {};
  #fail: (error: unknown) => void = () => {};

  constructor() {
    this.#worker.on('message', (message: FromWorker) => this.#onMessage(message));
    this.#worker.on('error', (error) => this.#fail(error));
  }

  #send(message: ToWorker, transfer: ArrayBuffer[] = []): void {
    this.#worker.postMessage(message, transfer);
  }

  /** The whole task over there. */
  readFile(path: string, want: Want, onBytes: OnBytes): Promise<TaskResult> {
    return new Promise((resolve, reject) => {
      this.#fail = reject;
      this.#onMessage = (message) => {
        if (message.type === 'bytes') onBytes(message.stored);
        else if (message.type === 'file-done') resolve(message.result);
      };
      this.#send({ type: 'file', path, want });
    });
  }

  /**
   * Reading and inflating here, parsing over there. One thread can do both only in turns, because inflating goes on
   * only when its event loop gets to it; two keep both cores of a pair busy on a single file.
   */
  async parseFile(path: string, want: Want, onBytes: OnBytes): Promise<TaskResult> {
    const members: Promise<TaskMember>[] = [];
    return withoutInputErrors(path, async () => {
      const file = await pourFile(path, onBytes, (start) => {
        const sink = new RemoteMember(start, want, (message, transfer) => this.#send(message, transfer));
        this.#onMessage = (message) => sink.receive(message);
        this.#fail = (error) => sink.fail(error);
        members.push(sink.result);
        return sink;
      });
      return { ...file, members: await Promise.all(members), error: null };
    });
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }
}

/** A member whose bytes are parsed in another thread. */
class RemoteMember implements MemberSink {
  readonly result: Promise<TaskMember>;
  readonly #want: Want;
  readonly #send: (message: ToWorker, transfer?: ArrayBuffer[]) => void;
  #resolve!: (member: TaskMember) => void;
  #reject!: (error: unknown) => void;
  #underWay = 0;
  #more = true;
  #wake: (() => void) | null = null;

  constructor(start: MemberStart, want: Want, send: (message: ToWorker, transfer?: ArrayBuffer[]) => void) {
    this.#want = want;
    this.#send = send;
    this.result = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.result.catch(() => {}); // whoever awaits it gets the error; until then it must not end the process
    send({ type: 'member', start });
  }

  push(chunk: Uint8Array, storedBytes: number): boolean | Promise<boolean> {
    // zlib goes on writing into a buffer it has not filled: only a full one may be given away.
    const whole = chunk.byteLength === chunk.buffer.byteLength && chunk.buffer instanceof ArrayBuffer;
    const owned = whole ? chunk : new Uint8Array(chunk); // not slice(): a Buffer's shares its memory
    this.#send({ type: 'chunk', chunk: owned, storedBytes }, [owned.buffer as ArrayBuffer]);
    this.#underWay++;
    if (this.#underWay < MAX_CHUNKS) return this.#more;
    return new Promise<void>((resolve) => {
      this.#wake = resolve;
    }).then(() => this.#more);
  }

  finish(end: MemberEnd): void {
    this.#send({ type: 'end', end, want: this.#want });
  }

  receive(message: FromWorker): void {
    if (message.type === 'member-done') this.#resolve(message.member);
    else if (message.type === 'chunk-done') {
      this.#underWay--;
      this.#more &&= message.more;
      this.#rouse();
    }
  }

  fail(error: unknown): void {
    this.#more = false;
    this.#reject(error);
    this.#rouse();
  }

  #rouse(): void {
    this.#wake?.();
    this.#wake = null;
  }
}
