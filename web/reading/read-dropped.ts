import type { TimelineSource } from '../../src/drawing/timeline.js';
import type { PageData } from '../../src/page/page-data.js';
import type { FromReader, Question, ToReader } from './protocol.js';

/** A trace that was read in this browser. */
export interface DroppedTrace {
  readonly page: PageData;
  readonly timeline: TimelineSource | null;
  /** Ends the thread that holds it. */
  close(): void;
}

/** Reads a trace in a thread of its own, which has no access to the network. Rejects with a sentence. */
export function readDropped(file: File, onProgress: (bytes: number) => void): Promise<DroppedTrace> {
  const worker = new Worker('reader.js', { type: 'module' });
  const close = () => worker.terminate();
  return new Promise((resolve, reject) => {
    const fail = (why: string) => {
      close();
      reject(new Error(why));
    };
    const answers = new Answers((message) => worker.postMessage(message));
    worker.addEventListener('error', ({ message }) =>
      fail(`the reader could not start: ${message ?? 'no answer'}`),
    );
    worker.addEventListener('message', ({ data }: MessageEvent<FromReader>) => {
      if (data.type === 'progress') onProgress(data.bytes);
      else if (data.type === 'failed') fail(data.why);
      else if (data.type === 'page')
        resolve({ page: data.page, timeline: data.hasTimeline ? answers.source() : null, close });
      else answers.take(data);
    });
    worker.postMessage({ type: 'read', file } satisfies ToReader);
  });
}

/** Questions that wait for an answer of the thread. */
class Answers {
  readonly #waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
  #next = 0;

  constructor(readonly send: (message: ToReader) => void) {}

  take(message: FromReader & { readonly type: 'answer' | 'no-answer' }): void {
    const waiting = this.#waiting.get(message.id);
    this.#waiting.delete(message.id);
    if (message.type === 'answer') waiting?.resolve(message.value);
    else waiting?.reject(new Error(message.why));
  }

  source(): TimelineSource {
    const ask = <Q extends Question>(question: Q) =>
      ((...words: unknown[]) =>
        new Promise((resolve, reject) => {
          const id = this.#next++;
          this.#waiting.set(id, { resolve, reject });
          this.send({ type: 'ask', id, question, words });
        })) as unknown as TimelineSource[Q];
    return {
      tracks: ask('tracks'),
      open: ask('open'),
      slices: ask('slices'),
      detail: ask('detail'),
      search: ask('search'),
      totals: ask('totals'),
      arrows: ask('arrows'),
    };
  }
}
