import { once } from 'node:events';
import { createWriteStream, renameSync, rmSync, statSync, type WriteStream } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { describeSystemError, InputError } from '../base/input-error.js';
import { leaveNothing } from '../base/leave-nothing.js';
import { asAscii, asciiJson } from './event-text.js';

/** Texts are joined up to this size before they are written. */
const PIECE = 1 << 18;

/** A Chrome trace that is being written: `.json`, or packed where the name ends in `.gz`. */
export class ChromeFile {
  readonly #path: string;
  readonly #partial: string;
  readonly #file: WriteStream;
  readonly #stream: Writable;
  readonly #written: Promise<void>;
  #waiting = '{"traceEvents":[';
  #isFirst = true;
  #closed = false;
  events = 0;
  /** Bytes of JSON, before packing. */
  bytes = 0;

  readonly #finished: () => void;

  constructor(path: string) {
    this.#path = path;
    this.#partial = join(dirname(path), `.${basename(path)}.partial-${process.pid}`);
    this.#finished = leaveNothing(() => rmSync(this.#partial, { force: true }));
    const file = createWriteStream(this.#partial, { flags: 'w' });
    this.#file = file;
    this.#stream = /\.gz$/i.test(path) ? createGzip({ level: 5 }) : file;
    if (this.#stream !== file) this.#stream.pipe(file as never);
    file.on('error', (error) => this.#stream.destroy(error));
    this.#written = finished(file).catch((error: unknown) => {
      throw new InputError(`cannot write ${path}: ${describeSystemError(error)}`);
    });
    this.#written.catch(() => {}); // handled where it is awaited
  }

  /** `event`: valid JSON, each character a byte. Call `flush` now and then. */
  add(event: string): void {
    this.#waiting += this.#isFirst ? `\n${event}` : `,\n${event}`;
    this.#isFirst = false;
    this.events++;
  }

  /** Waits until what was added is on its way. */
  async flush(all = false): Promise<void> {
    if (this.#waiting.length < PIECE && !all) return;
    const bytes = Buffer.from(this.#waiting, 'latin1');
    this.bytes += bytes.length;
    this.#waiting = '';
    if (this.#stream.destroyed) return this.#written;
    if (!this.#stream.write(bytes)) await Promise.race([once(this.#stream, 'drain'), this.#written]);
  }

  /** Fields around the events, as JSON text. Those that are not valid are left out. */
  async finish(fields: ReadonlyMap<string, string>): Promise<void> {
    this.#waiting += '\n]';
    for (const [key, text] of fields) {
      // One that was cut or damaged is left out. The text, because ns since 1970 have too many digits for a double.
      if (isJson(text)) this.#waiting += `,\n${asciiJson(key)}:${asAscii(text)}`;
    }
    this.#waiting += '\n}\n';
    await this.flush(true);
    this.#stream.end();
    await this.#written;
    renameSync(this.#partial, this.#path);
    this.#closed = true;
    this.#finished();
  }

  /** Removes what was written, unless it is finished. */
  async abandon(): Promise<void> {
    if (this.#closed) return;
    this.#finished();
    this.#stream.destroy();
    this.#file.destroy(); // a packer that is destroyed leaves its file open
    await this.#written.catch(() => {});
    rmSync(this.#partial, { force: true });
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Before anything is read, which may take minutes: throws InputError when the result cannot go there. */
export function mustBeFree(out: string, force: boolean): void {
  const there = statSync(out, { throwIfNoEntry: false });
  if (there?.isDirectory()) throw new InputError(`${out} is a folder: name a file in it`);
  if (there && !force) throw new InputError(`${out} exists; --force replaces it`);
  if (!statSync(dirname(out), { throwIfNoEntry: false })?.isDirectory())
    throw new InputError(`cannot write ${out}: there is no folder ${dirname(out)}`);
}

/** Throws InputError when the result would replace what it is made of: `--force` is for an earlier result. */
export function mustNotBeInput(out: string, files: readonly string[]): void {
  const there = statSync(out, { throwIfNoEntry: false });
  if (!there) return;
  const isSame = (file: string) => {
    const { dev, ino } = statSync(file, { throwIfNoEntry: false }) ?? {};
    return dev === there.dev && ino === there.ino;
  };
  if (files.some(isSame)) throw new InputError(`${out} is one of the files to read: choose another name`);
}
