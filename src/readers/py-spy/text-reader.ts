import type { StackFrame, StackProfile } from '../../model/stack-profile.js';
import { LineSplitter, type PieceEnd, type PieceSink } from '../common/line-splitter.js';
import type { StreamReader } from '../common/reader.js';
import { newPySpyFaults, StackBook, type StacksRead } from './stack-book.js';

/** `Process 9293: python train.py`, `Thread 9293 (active+gil): "MainThread"`, `    step (train.py:12)`. */
const PROCESS = /^Process (\d{1,10}): (.*)$/;
const THREAD = /^Thread (\S{1,40}) \(([a-z+ ]{1,30})\)(?:: "(.*)")?$/;
const DETAIL = /^(?:Python v|\s+(?:Arguments|Locals):|\s{8})/;

/** `step (train.py:12)`; frames of native code have no line. Without a pattern, which would try every bracket. */
function parseFrame(
  text: string,
): { readonly name: string; readonly file: string; readonly line: number } | null {
  const open = text.lastIndexOf(' (');
  if (open <= 0 || !text.endsWith(')')) return null;
  const place = text.slice(open + 2, -1);
  const colon = place.lastIndexOf(':');
  const line = colon > 0 && /^\d{1,9}$/.test(place.slice(colon + 1)) ? Number(place.slice(colon + 1)) : 0;
  return { name: text.slice(0, open), file: line > 0 ? place.slice(0, colon) : place, line };
}

export const looksLikeDump = (head: string): boolean =>
  /^Process \d+: /m.test(head) && /^Thread \S+ \([a-z+ ]+\)/m.test(head);

/** Lines of a file, each with its terminator. */
abstract class LineReader implements StreamReader<StacksRead>, PieceSink {
  readonly faults = newPySpyFaults();
  readonly #splitter = new LineSplitter(this);

  push(chunk: Uint8Array): void {
    this.#splitter.push(chunk);
  }

  finish(): StacksRead {
    this.#splitter.finish();
    const profiles = this.profiles().filter((p) => p.threads.some((t) => t.stacks.length > 0));
    return { profiles, problems: this.faults.list() };
  }

  piece(bytes: Buffer, start: number, end: number, by: PieceEnd, at: number): void {
    const text = bytes.toString('utf8', start, end).trimEnd();
    // A number may have lost its last digits.
    if (by === 'end') this.faults.add('cut-line', at);
    else if (text !== '') this.line(text, at);
  }

  nulBytes(): void {}

  longLine(at: number): void {
    this.faults.add('long-line', at);
  }

  protected abstract line(text: string, at: number): void;
  protected abstract profiles(): StackProfile[];
}

/** No job has more ranks on one machine that somebody dumps into one file. */
const MAX_DUMPS = 4096;

/** `py-spy dump`; several may follow one another in a file. */
export class DumpReader extends LineReader {
  readonly #books: StackBook[] = [];
  #thread: { readonly key: string; readonly name: string; readonly isActive: boolean } | null = null;
  #frames: StackFrame[] = [];

  protected line(text: string, at: number): void {
    const book = this.#books.at(-1);
    const process = PROCESS.exec(text);
    if (process) {
      this.#endThread();
      if (this.#books.length === MAX_DUMPS) return this.faults.add('too-many-stacks', at);
      this.#books.push(new StackBook('dump', Number(process[1]), process[2]!, this.faults));
      return;
    }
    const thread = THREAD.exec(text);
    if (thread && book) {
      this.#endThread();
      this.#thread = { key: thread[1]!, name: thread[3] ?? '', isActive: thread[2]!.startsWith('active') };
      return;
    }
    if (DETAIL.test(text)) return;
    const frame = text.startsWith('    ') ? parseFrame(text.trim()) : null;
    if (frame && book && this.#thread) this.#frames.push(book.frame(frame.name, frame.file, frame.line));
    else this.faults.add('odd-line', at);
  }

  protected profiles(): StackProfile[] {
    this.#endThread();
    return this.#books.map((book) => book.finish());
  }

  #endThread(): void {
    const thread = this.#thread;
    if (thread) this.#books.at(-1)!.add(thread.key, thread.name, thread.isActive, this.#frames, 1);
    this.#thread = null;
    this.#frames = [];
  }
}

/** `thread (11548): MainThread` of `--threads`, `process 11548:"python train.py"` of `--subprocesses`. */
const RAW_THREAD = /^thread \((\S{1,40})\)(?:: (.*))?$/;
const RAW_PROCESS = /^process (\d{1,10}):"(.*)"$/;
const RAW_LINE = /^(.{1,900000}) (\d{1,12})$/s;

export const looksLikeRaw = (head: string): boolean =>
  head
    .split('\n', 4)
    .slice(0, -1)
    .some((line) =>
      /^(?:process \d+:"|thread \(|[^;{}]{1,300} \([^;()]{1,300}:\d+\)(?:;| \d+$)).*\) \d+\s*$/.test(line),
    );

/** `py-spy record --format raw`: outermost frame first, then the number of samples. */
export class RawReader extends LineReader {
  readonly #book = new StackBook('samples', null, '', this.faults);

  protected line(text: string, at: number): void {
    const match = RAW_LINE.exec(text);
    if (!match) return this.faults.add('odd-line', at);
    const frames: StackFrame[] = [];
    let [key, name] = ['', ''];
    for (const part of match[1]!.split(';')) {
      const thread = RAW_THREAD.exec(part);
      const process = RAW_PROCESS.exec(part);
      if (thread) [key, name] = [`${key} ${thread[1]}`, thread[2] ?? ''];
      else if (process) key = `${key} ${process[1]}`;
      else frames.push(this.#frameOf(part));
    }
    // Without names of threads, stacks with the same outermost frame are of one thread.
    const root = frames[0];
    if (key === '' && root) key = `${root.function} ${root.file}`;
    this.#book.add(key, name, null, frames.reverse(), Number(match[2]));
  }

  protected profiles(): StackProfile[] {
    return [this.#book.finish()];
  }

  #frameOf(part: string): StackFrame {
    const frame = parseFrame(part);
    return frame ? this.#book.frame(frame.name, frame.file, frame.line) : this.#book.frame(part, '', 0);
  }
}
