import { parentPort } from 'node:worker_threads';
import { type MemberEnd, MemberReader, type MemberStart } from './member-reader.js';
import { digest, runTask, type TaskMember, type TaskResult, type Want } from './task.js';
import { buffersOf } from './transfer.js';

/** Messages to a worker: a whole file to read, or the bytes of a member that another thread reads and inflates. */
export type ToWorker =
  | { readonly type: 'file'; readonly path: string; readonly want: Want }
  | { readonly type: 'member'; readonly start: MemberStart }
  | { readonly type: 'chunk'; readonly chunk: Uint8Array; readonly storedBytes: number }
  | { readonly type: 'end'; readonly end: MemberEnd; readonly want: Want };

export type FromWorker =
  | { readonly type: 'bytes'; readonly stored: number }
  | { readonly type: 'file-done'; readonly result: TaskResult }
  /** A chunk was used up; `more` false: the rest of the member is not needed. */
  | { readonly type: 'chunk-done'; readonly more: boolean }
  | { readonly type: 'member-done'; readonly member: TaskMember };

const REPORT_EVERY_MS = 100;

function send(message: FromWorker, payload: unknown = null): void {
  parentPort!.postMessage(message, buffersOf(payload));
}

let member: MemberReader | null = null;

parentPort?.on('message', async (message: ToWorker) => {
  switch (message.type) {
    case 'file': {
      const result = await runTask(
        message.path,
        message.want,
        throttled((stored) => send({ type: 'bytes', stored })),
      );
      return send({ type: 'file-done', result }, result);
    }
    case 'member':
      member = new MemberReader(message.start);
      return;
    case 'chunk':
      return send({ type: 'chunk-done', more: member!.push(message.chunk, message.storedBytes) });
    default: {
      const result = digest(member!.finish(message.end), message.want);
      member = null;
      return send({ type: 'member-done', member: result }, result);
    }
  }
});

function throttled(report: (n: number) => void): (n: number) => void {
  let last = 0;
  return (n) => {
    const now = performance.now();
    if (now - last < REPORT_EVERY_MS) return;
    last = now;
    report(n);
  };
}
