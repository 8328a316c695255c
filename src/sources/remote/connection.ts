import { type Answer, ConnectionFault, patienceMs } from './http.js';

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
