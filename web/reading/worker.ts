import { InputError } from '../../src/base/input-error.js';
import type { TimelineSource } from '../../src/drawing/timeline.js';
import { openStream } from '../../src/library/open-stream.js';
import { openChunks } from './file-chunks.js';
import type { FromReader, ToReader } from './protocol.js';

const PROGRESS_MS = 100;

const send = (message: FromReader) => postMessage(message);
let timeline: TimelineSource | null = null;

addEventListener('message', ({ data }: MessageEvent<ToReader>) => {
  void (data.type === 'read' ? read(data.file) : answer(data));
});

async function read(file: File): Promise<void> {
  let told = 0;
  const tell = (bytes: number) => {
    if (performance.now() - told < PROGRESS_MS) return;
    told = performance.now();
    send({ type: 'progress', bytes });
  };
  try {
    const opened = await openStream({ name: file.name, size: file.size, ...(await openChunks(file, tell)) });
    timeline = opened.timeline;
    send({ type: 'page', page: opened.page, hasTimeline: timeline !== null });
  } catch (error) {
    send({ type: 'failed', why: whyFailed(file.name, error) });
  }
}

/** Browsers say with a RangeError that memory is used up. */
function whyFailed(name: string, error: unknown): string {
  if (error instanceof InputError) return error.message;
  if (error instanceof RangeError)
    return `${name} does not fit into the memory that the browser gives a page`;
  return `reading ${name} failed: ${error instanceof Error ? error.message : String(error)}`;
}

async function answer({ id, question, words }: ToReader & { readonly type: 'ask' }): Promise<void> {
  try {
    const ask = timeline![question] as (...words: unknown[]) => Promise<unknown>;
    send({ type: 'answer', id, value: await ask.apply(timeline, words) });
  } catch (error) {
    send({ type: 'no-answer', id, why: error instanceof Error ? error.message : String(error) });
  }
}
