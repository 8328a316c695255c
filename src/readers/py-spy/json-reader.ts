import type { StackFrame, StackProfile } from '../../model/stack-profile.js';
import { asObject, type JsonObject } from '../common/json-object.js';
import type { StreamReader } from '../common/reader.js';
import { WholeFile } from '../common/whole-file.js';
import { newPySpyFaults, type PySpyFaults, StackBook, type StacksRead } from './stack-book.js';

export const looksLikeJsonDump = (head: string): boolean =>
  /^\s*\[\s*\{/.test(head) && /"owns_gil"\s*:/.test(head) && /"os_thread_id"\s*:/.test(head);

export const looksLikeSpeedscope = (head: string): boolean =>
  /^\s*\{/.test(head) &&
  /"\$schema"\s*:\s*"https?:\/\/www\.speedscope\.app\/file-format-schema\.json"/.test(head);

/** A recording of a few minutes; every sample is a list of numbers. */
const MAX_BYTES = 128 << 20;

/** `py-spy dump --json`, and speedscope's format, which py-spy and others write. */
export class JsonStacksReader implements StreamReader<StacksRead> {
  readonly #file = new WholeFile(MAX_BYTES);

  push(chunk: Uint8Array): void {
    this.#file.push(chunk);
  }

  finish(): StacksRead {
    const faults = newPySpyFaults();
    const value = this.#file.json();
    if (this.#file.isTooLarge) faults.add('too-large', null);
    else if (value === undefined) faults.add('broken-json', null);
    const profiles = Array.isArray(value) ? dumpsIn(value, faults) : speedscopeIn(asObject(value), faults);
    const told = profiles.filter((p) => p.threads.some((t) => t.stacks.length > 0));
    return { profiles: told, problems: faults.list() };
  }
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '');
const count = (value: unknown): number =>
  Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : 0;

function frameOf(book: StackBook, frame: JsonObject): StackFrame {
  return book.frame(text(frame.name), text(frame.filename) || text(frame.file), count(frame.line));
}

function dumpsIn(threads: readonly unknown[], faults: PySpyFaults): StackProfile[] {
  const books = new Map<number, StackBook>();
  for (const value of threads) {
    const thread = asObject(value);
    if (!thread || !Array.isArray(thread.frames)) {
      faults.add('wrong-type', null);
      continue;
    }
    const pid = count(thread.pid);
    const book = books.get(pid) ?? new StackBook('dump', pid, '', faults);
    books.set(pid, book);
    const frames = thread.frames.map((f) => frameOf(book, asObject(f) ?? {}));
    const isActive = typeof thread.active === 'boolean' ? thread.active : null;
    book.add(
      `${count(thread.thread_id) || count(thread.os_thread_id)}`,
      text(thread.thread_name),
      isActive,
      frames,
      1,
    );
  }
  return [...books.values()].map((book) => book.finish());
}

/** Samples are lists of frames, outermost first. Evented profiles, which browsers write, have none. */
function speedscopeIn(file: JsonObject | null, faults: PySpyFaults): StackProfile[] {
  if (!file) return [];
  const book = new StackBook('samples', null, text(file.name), faults);
  const shared = asObject(file.shared)?.frames;
  const frames = (Array.isArray(shared) ? shared : []).map((f) => frameOf(book, asObject(f) ?? {}));
  for (const [i, value] of (Array.isArray(file.profiles) ? file.profiles : []).entries()) {
    const profile = asObject(value);
    const samples: unknown = profile?.samples;
    if (profile?.type !== 'sampled' || !Array.isArray(samples)) {
      faults.add('wrong-type', null);
      continue;
    }
    const title = text(profile.name);
    const name = /"([^"]*)"$/.exec(title)?.[1] ?? title;
    for (const sample of samples) {
      const stack = Array.isArray(sample)
        ? sample.flatMap((at) => (typeof at === 'number' ? (frames[at] ?? []) : []))
        : [];
      if (stack.length > 0) book.add(`${i}`, name, null, stack.reverse(), 1);
      else faults.add('wrong-type', null);
    }
  }
  return [book.finish()];
}
