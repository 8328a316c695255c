import { InputError } from '../../base/input-error.js';
import { bytes, formatBytes } from '../../base/units.js';
import { shownAddress } from './address.js';
import { BlockCache } from './block-cache.js';
import {
  type Answer,
  ConnectionFault,
  type Headers,
  MAX_ATTEMPTS,
  patienceMs,
  pause,
  reasonOf,
} from './http.js';
import { asRefusal, refusal, type Store } from './store.js';
import { storeOf } from './stores.js';

/** An object that is open, in the form of a file. */
interface RemoteSource {
  readonly chunks: AsyncIterator<Uint8Array, undefined>;
  /** Null: the server sends whole files only. */
  readonly extent: RemoteExtent | null;
  reached(): number;
  close(): Promise<void>;
}

interface RemoteExtent {
  readonly offset: number;
  readonly size: number;
  read(at: number, length: number): Promise<Uint8Array>;
}

/** How an object was answered the first time. It must not change while it is read. */
interface Opened {
  readonly answer: Answer;
  readonly tag: string | null;
  /** In bytes; null: the server does not say. */
  readonly size: number | null;
  readonly hasRanges: boolean;
}

/** Throws InputError when the object cannot be read. */
export async function openRemote(path: string): Promise<RemoteSource> {
  const store = storeOf(path);
  const object = new RemoteObject(path, store, await openFirst(path, store));
  return {
    chunks: object,
    extent: object.extent,
    reached: () => object.position,
    close: async () => {
      await object.return();
    },
  };
}

/** The size of an object, in bytes; 0: the server does not say. Null: there is no such object. */
export async function sizeOf(path: string): Promise<number | null> {
  const store = storeOf(path);
  const answer = await askFromStart(path, store, 'bytes=0-0');
  answer.body.destroy();
  if (answer.status === 404) return null;
  return answer.status === 206
    ? (rangeOf(answer)?.total ?? 0)
    : Number(answer.headers['content-length'] ?? 0);
}

async function ask(path: string, store: Store, headers: Headers): Promise<Answer> {
  try {
    return await store.fetch(path, headers);
  } catch (error) {
    throw asRefusal(error, shownAddress(path));
  }
}

/** An empty object has no range at all, so it is asked for without one. */
async function askFromStart(path: string, store: Store, range: string): Promise<Answer> {
  const answer = await ask(path, store, { range });
  if (answer.status !== 416) return answer;
  answer.body.destroy();
  return ask(path, store, {});
}

async function openFirst(path: string, store: Store): Promise<Opened> {
  const answer = await askFromStart(path, store, 'bytes=0-');
  const { status, headers } = answer;
  const range = rangeOf(answer);
  const { etag } = headers;
  // A weak tag does not promise the same bytes.
  const tag = etag && !etag.startsWith('W/') ? etag : (headers['last-modified'] ?? null);
  if (status === 206 && range?.start === 0) return { answer, tag, size: range.total, hasRanges: true };
  if (status !== 200) throw await refusal(shownAddress(path), answer, store);
  const length = Number(headers['content-length'] ?? Number.NaN);
  return { answer, tag, size: Number.isNaN(length) ? null : length, hasRanges: false };
}

/** `bytes 0-99/1000`, or an asterisk and the total where the range is empty. */
function rangeOf({
  headers,
}: Answer): { readonly start: number | null; readonly total: number | null } | null {
  const [all, start, total] =
    /^bytes (?:(\d{1,15})-\d{1,15}|\*)\/(\d{1,15}|\*)$/.exec(headers['content-range'] ?? '') ?? [];
  if (all === undefined) return null;
  return { start: start === undefined ? null : Number(start), total: total === '*' ? null : Number(total) };
}

/** Of an object whose length the server does not say: it may never end. Traces are smaller, packed as they should be. */
const MOST_UNKNOWN = 2 ** 30;

/** The bytes of an object in order. Where the connection breaks, it goes on from there. */
class RemoteObject implements AsyncIterator<Uint8Array, undefined> {
  position = 0;
  readonly extent: RemoteExtent | null;
  readonly #path: string;
  readonly #shown: string;
  readonly #store: Store;
  readonly #opened: Opened;
  #connection: Connection | null;
  #isClosed = false;
  /** Failures since the last byte that came. */
  #failures = 0;

  constructor(path: string, store: Store, opened: Opened) {
    this.#path = path;
    this.#shown = shownAddress(path);
    this.#store = store;
    this.#opened = opened;
    this.#connection = new Connection(opened.answer);
    const { size, hasRanges } = opened;
    const blocks =
      hasRanges && size !== null ? new BlockCache(size, (at, n) => this.#readRange(at, n)) : null;
    this.extent = blocks && { offset: 0, size: size!, read: (at, length) => blocks.read(at, length) };
  }

  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    const { size } = this.#opened;
    for (;;) {
      if (this.#isClosed || this.position === size) return { done: true, value: undefined };
      try {
        this.#connection ??= await this.#resume();
        const value = await this.#connection.next();
        if (value !== null) {
          this.#failures = 0;
          this.position += value.length;
          if (size === null && this.position > MOST_UNKNOWN)
            throw new InputError(
              `cannot read ${this.#shown}: it did not end after ${formatBytes(bytes(MOST_UNKNOWN))}, and the server does not say how long it is`,
            );
          return { done: false, value };
        }
        if (this.#isClosed || size === null) return { done: true, value: undefined };
        throw new ConnectionFault(`it ended after ${this.#read()}`);
      } catch (error) {
        if (error instanceof InputError) throw error;
        await this.#recover(error);
      }
    }
  }

  async return(): Promise<IteratorResult<Uint8Array, undefined>> {
    this.#isClosed = true;
    this.#connection?.close();
    return { done: true, value: undefined };
  }

  async #recover(error: unknown): Promise<void> {
    this.#connection?.close();
    this.#connection = null;
    const reason = error instanceof ConnectionFault ? error.message : reasonOf(error);
    // Without a size nobody can say whether the rest is missing, but what was cut was cut.
    if (++this.#failures >= MAX_ATTEMPTS)
      throw new InputError(
        `cannot read ${this.#shown}: ${reason}; tried ${MAX_ATTEMPTS} times after ${this.#read()}`,
      );
    await pause(this.#failures);
  }

  #read(): string {
    const { size } = this.#opened;
    const all = size === null ? '' : ` of ${formatBytes(bytes(size))}`;
    return `${formatBytes(bytes(this.position))}${all}`;
  }

  /** Goes on where the last connection ended. */
  async #resume(): Promise<Connection> {
    const { tag } = this.#opened;
    const condition: Headers = tag === null ? {} : { 'if-range': tag };
    const answer = await ask(this.#path, this.#store, { range: `bytes=${this.position}-`, ...condition });
    if (answer.status === 206 && rangeOf(answer)?.start === this.position) {
      this.#mustBeSame(answer);
      return new Connection(answer);
    }
    if (answer.status !== 200) throw await refusal(this.#shown, answer, this.#store);
    // The whole object: the server has no ranges, or the object is another one by now.
    this.#mustBeSame(answer);
    const connection = new Connection(answer);
    await connection.skip(this.position);
    return connection;
  }

  #mustBeSame({ headers, body }: Answer): void {
    const { tag } = this.#opened;
    if (tag === null || tag === headers.etag || tag === headers['last-modified']) return;
    body.destroy();
    throw new InputError(`cannot read ${this.#shown}: it changed while it was read`);
  }

  async #readRange(at: number, length: number): Promise<Uint8Array> {
    const { tag } = this.#opened;
    const condition: Headers = tag === null ? {} : { 'if-range': tag };
    for (let attempt = 1; ; attempt++) {
      const answer = await ask(this.#path, this.#store, {
        range: `bytes=${at}-${at + length - 1}`,
        ...condition,
      });
      if (answer.status !== 206) throw await refusal(this.#shown, answer, this.#store);
      this.#mustBeSame(answer);
      const parts: Uint8Array[] = [];
      try {
        const connection = new Connection(answer);
        for (let part = await connection.next(); part !== null; part = await connection.next())
          parts.push(part);
        const all = Buffer.concat(parts);
        if (all.length === length) return all;
        throw new ConnectionFault(`${all.length} of ${length} bytes came`);
      } catch (error) {
        answer.body.destroy();
        if (attempt >= MAX_ATTEMPTS)
          throw new InputError(`cannot read ${this.#shown}: ${reasonOf(error)}; tried ${attempt} times`);
        await pause(attempt);
      }
    }
  }
}

/** The body of one answer, chunk by chunk. */
export class Connection {
  readonly #answer: Answer;
  readonly #chunks: AsyncIterator<Uint8Array>;
  /** What is left of a chunk that was skipped in part. */
  #rest: Uint8Array | null = null;

  constructor(answer: Answer) {
    this.#answer = answer;
    this.#chunks = (answer.body as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]();
  }

  /** Null at the end. Throws when the connection breaks, or when nothing comes for long. */
  async next(): Promise<Uint8Array | null> {
    const rest = this.#rest;
    this.#rest = null;
    if (rest) return rest;
    const { done, value } = await inTime(this.#chunks.next());
    return done ? null : value;
  }

  async skip(count: number): Promise<void> {
    for (let left = count; left > 0; ) {
      const chunk = await this.next();
      if (chunk === null) throw new ConnectionFault('the connection was cut');
      if (chunk.length > left) this.#rest = chunk.subarray(left);
      left -= chunk.length;
    }
  }

  /** At once, also when `next` is waiting. */
  close(): void {
    this.#answer.body.on('error', () => {}).destroy();
  }
}

/** Only while somebody waits: a slow reader is no fault of the server. */
async function inTime<T>(waiting: Promise<T>): Promise<T> {
  const limit = patienceMs();
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new ConnectionFault(`nothing came for ${limit / 1000} s`)), limit);
  });
  try {
    return await Promise.race([waiting, late]);
  } finally {
    clearTimeout(timer);
  }
}
