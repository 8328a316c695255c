import type { ProcessState, StackFrame, StackProfile } from '../../model/stack-profile.js';
import { LineSplitter, type PieceEnd, type PieceSink } from '../common/line-splitter.js';
import type { StreamReader } from '../common/reader.js';
import { MAX_DEPTH, newPySpyFaults, StackBook, type StacksRead } from './stack-book.js';

/** `Process 9293: python train.py`, `Thread 9293 (active+gil): "MainThread"`, `    step (train.py:12)`. */
const PROCESS = /^Process (\d{1,10}):(?: (.*))?$/;
const THREAD = /^Thread (\S{1,40}) \(([a-z+ ]{1,30})\)(?:: "(.*)")?$/;
const DETAIL = /^(?:Python v|\s+(?:Arguments|Locals):|\s{8})/;

/** `whyslow run` adds it below the process. */
const STATE = /^State: (stopped|silent)$/;

/** What torch.distributed.debug puts above the stacks of each rank, and instead of them. */
const RANK = /^=== Rank (\d{1,7}): \S{1,2000}\/handler\/(?:dump_traceback|pyspy_dump)\S{0,200} ===$/;
const ERROR = /^Error: (\d{3})$/;
const STATES = new Map<string, ProcessState>([
  ['408', 'silent'],
  ['503', 'gone'],
]);
const SUMMARY = /^PARTIAL DATA: |^ {2}Rank \d{1,7}: /;

/** Python's faulthandler: `Thread 0x00007f55fd433b80 (most recent call first):`, `  File "train.py", line 9 in step`. */
const TRACEBACK =
  /^(?:Current thread|Thread) (0x[0-9a-f]{1,16})(?: \[(.{1,100})\])? \(most recent call first\):$/;
const FILE = /^ {2}File "(.{1,4096})", line (\d{1,9}) in (.{1,400})$/;
const NO_FRAME = '  <no Python frame>';

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
  (/^Process \d+:/m.test(head) && /^Thread \S+ \([a-z+ ]+\)|^State: silent$/m.test(head)) ||
  head.split('\n').some((line) => RANK.test(line) || TRACEBACK.test(line));

function frameIn(text: string) {
  const file = FILE.exec(text);
  if (file) return { name: file[3]!, file: file[1]!, line: Number(file[2]) };
  return text.startsWith('    ') ? parseFrame(text.trim()) : null;
}

/** Lines of a file, each with its terminator. */
abstract class LineReader implements StreamReader<StacksRead>, PieceSink {
  readonly faults = newPySpyFaults();
  readonly #splitter = new LineSplitter(this);

  push(chunk: Uint8Array): void {
    this.#splitter.push(chunk);
  }

  finish(): StacksRead {
    this.#splitter.finish();
    const profiles = this.profiles().filter(
      (p) => p.state !== 'runs' || p.threads.some((t) => t.stacks.length > 0),
    );
    return { profiles, problems: this.faults.list() };
  }

  piece(bytes: Buffer, start: number, end: number, by: PieceEnd, at: number): void {
    const text = bytes.toString('utf8', start, end).trimEnd();
    // A number may have lost its last digits. torch ends its files without a line break.
    if (by === 'end' && !ERROR.test(text) && !FILE.test(text)) this.faults.add('cut-line', at);
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

/** `py-spy dump`, faulthandler, and files of torch.distributed.debug: several processes may follow one another in a file. */
export class DumpReader extends LineReader {
  readonly #books: StackBook[] = [];
  #thread: { readonly key: string; readonly name: string; readonly isActive: boolean | null } | null = null;
  #frames: StackFrame[] = [];

  protected line(text: string, at: number): void {
    if (this.#isHead(text, at)) return;
    const book = this.#books.at(-1);
    if (!book) {
      if (!SUMMARY.test(text)) this.faults.add('odd-line', at);
      return;
    }
    const thread = THREAD.exec(text);
    const traceback = thread ? null : TRACEBACK.exec(text);
    if (thread || traceback) {
      this.#endThread();
      const [, key, second = '', name = ''] = (thread ?? traceback)!;
      this.#thread = thread
        ? { key: key!, name, isActive: second.startsWith('active') }
        : { key: key!, name: second, isActive: null };
      return;
    }
    if (DETAIL.test(text) || text === NO_FRAME) return;
    const frame = frameIn(text);
    if (frame && this.#thread) {
      // Innermost first: what is further out than the book keeps need not be held.
      if (this.#frames.length < MAX_DEPTH) this.#frames.push(book.frame(frame.name, frame.file, frame.line));
    } else this.faults.add('odd-line', at);
  }

  /** Lines about a process as a whole. */
  #isHead(text: string, at: number): boolean {
    const book = this.#books.at(-1);
    const [process, rank, error] = [PROCESS.exec(text), RANK.exec(text), ERROR.exec(text)];
    const state = STATE.exec(text)?.[1] ?? STATES.get(error?.[1] ?? '');
    if (book && (state || error)) {
      if (state) book.state = state as ProcessState;
      return true;
    }
    if (process && book && book.rank !== null && book.pid === null) {
      book.pid = Number(process[1]);
      book.command = process[2] ?? '';
    } else if (process || rank || (!book && TRACEBACK.test(text))) this.#begin(process, rank, at);
    return process !== null || rank !== null;
  }

  #begin(process: RegExpExecArray | null, rank: RegExpExecArray | null, at: number): void {
    this.#endThread();
    if (this.#books.length === MAX_DUMPS) return this.faults.add('too-many-stacks', at);
    const book = new StackBook('dump', process ? Number(process[1]) : null, process?.[2] ?? '', this.faults);
    if (rank) book.rank = Number(rank[1]);
    this.#books.push(book);
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

const MAX_LATE_LINE = 20_000;

/** `py-spy record --format raw`: outermost frame first, then the number of samples. */
export class RawReader extends LineReader {
  readonly #book = new StackBook('samples', null, '', this.faults);

  protected line(text: string, at: number): void {
    // A stack that is known already may still come: its samples are counted as long as that is cheap.
    if (this.#book.isFull && text.length > MAX_LATE_LINE) return this.faults.add('too-many-stacks', at);
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
