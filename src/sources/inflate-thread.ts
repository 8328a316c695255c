import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import { MessageChannel, receiveMessageOnPort, type Worker } from 'node:worker_threads';
import type { Progress } from './decode.js';
import {
  ANSWERED,
  type FromInflater,
  type Inflater,
  type InflateTask,
  SENT,
  WAKE_EVERY,
} from './inflate-messages.js';
import { startThreads } from './start-thread.js';
import type { Lending } from './stream.js';

interface Inflated {
  /** Decoded bytes that were handed out. */
  readonly made: number;
  /** False: something is odd after them. Who decodes from the start and skips them gets the rest, and finds out what. */
  readonly isComplete: boolean;
}

/**
 * The content of a gzip file, inflated in a thread of its own into memory that is used again. Fresh memory for every chunk
 * costs page faults in one thread and most of the garbage collections in the other.
 */
export async function* inflateInThread(
  inflater: Inflater,
  progress: Progress,
  lending: Lending,
): AsyncGenerator<Uint8Array, Inflated> {
  let made = 0;
  let hasEnded = false;
  try {
    for (;;) {
      const message = await inflater.next();
      hasEnded = message?.type === 'end';
      if (message?.type !== 'chunk') return { made, isComplete: message?.isComplete ?? false };
      const { memory, length, consumed } = message;
      made += length;
      progress.consumed = consumed;
      if (length > 0) yield memory.subarray(0, length);
      inflater.answer(lending.isOn ? memory : null);
    }
  } finally {
    // The caller closes the file next.
    await inflater.close(hasEnded);
  }
}

/** Milliseconds that the event loop may stand still. A wait that ends before costs less than a turn of the loop. */
const LONGEST_WAIT = 2;

/** `onClose`: after the last read. */
export function startInflater(fd: number, onClose = () => {}): Inflater {
  const { port1: own, port2: port } = new MessageChannel();
  const counters = new Int32Array(new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT));
  const thread = startThread({ fd, port, counters });
  let hasFailed = thread === null;
  thread?.once('error', () => {
    hasFailed = true;
  });
  // It must not keep the process alive if nobody reads the file after all.
  thread?.unref();
  let received = 0;
  return {
    async next() {
      for (;;) {
        if (Atomics.load(counters, SENT) > received) {
          received++;
          return receiveMessageOnPort(own)!.message as FromInflater;
        }
        if (hasFailed) return undefined;
        if (Atomics.wait(counters, SENT, received, LONGEST_WAIT) === 'timed-out') await turnOfTheLoop();
      }
    },
    answer(memory) {
      own.postMessage(memory, memory ? [memory.buffer] : []);
      const before = Atomics.add(counters, ANSWERED, 1);
      if ((before + 1) % WAKE_EVERY === 0) Atomics.notify(counters, ANSWERED);
    },
    async close(hasEnded) {
      if (!hasEnded) await thread?.terminate();
      onClose();
    },
  };
}

/** Null: there is no such thread. */
function startThread(task: InflateTask): Worker | null {
  const options = { workerData: task, transferList: [task.port] };
  try {
    // The bundle has inflate-worker.js beside this module. Tests of the sources run without threads.
    return startThreads(new URL('./inflate-worker.js', import.meta.url), 1, options)[0]!;
  } catch {
    return null;
  }
}
