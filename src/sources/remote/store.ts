import { InputError } from '../../base/input-error.js';
import { type Answer, ConnectionFault, type Headers, textOf } from './http.js';

/** Where objects are. */
export interface Store {
  /** Asks for an object. Retries what may go away by itself. Any status is an answer. */
  fetch(path: string, headers: Headers): Promise<Answer>;
  /** Objects below a prefix, which ends in `/` or is a whole bucket. Null: the store cannot list. */
  readonly list: ((prefix: string) => AsyncIterable<RemoteFile>) | null;
  /** What was used to log in, in words, for error messages. */
  login(): Promise<string>;
}

export interface RemoteFile {
  /** As the user would write it. */
  readonly path: string;
  readonly size: number;
}

/** At 1,000 objects a page, ten times the objects that are listed at most: some pages are nearly empty. */
const MOST_PAGES = 2000;
/** 1,000 names of 1,024 characters, encoded, take less. */
export const MOST_PAGE_BYTES = 16 << 20;

/** The pages of a list, which a broken server may continue forever. */
export class ListPages {
  readonly #shown: string;
  #count = 0;
  #last: string | null = null;

  constructor(shown: string) {
    this.#shown = shown;
  }

  /** What to ask for the next page with; null: this was the last. */
  next(token: string | null): string | null {
    if (!token) return null;
    if (token === this.#last || ++this.#count >= MOST_PAGES)
      throw new InputError(`cannot list ${this.#shown}: the list does not end; name a longer prefix`);
    this.#last = token;
    return token;
  }
}

/** An answer that is not what was asked for, as an error for people. `shown`: the address without secrets. */
export async function refusal(shown: string, answer: Answer, store: Store): Promise<InputError> {
  const { status } = answer;
  const code = codeIn(await textOf(answer, 1 << 20).catch(() => ''));
  const said = code === null ? String(status) : `${status} ${code}`;
  if (status === 401 || status === 403)
    return new InputError(`cannot read ${shown}: access denied (${said}); ${await store.login()}`);
  if (status === 404) return new InputError(`cannot read ${shown}: not found (${said})`);
  if (status === 503 || status === 429)
    return new InputError(`cannot read ${shown}: the server is too busy (${said}); try again later`);
  return new InputError(`cannot read ${shown}: the server answered ${said}`);
}

/** The short name of an error: S3 answers in XML, Google in JSON. Only letters, so that it cannot be a secret. */
export const codeIn = (body: string): string | null =>
  /<Code>([A-Za-z]{1,60})<\/Code>|"reason":\s*"([A-Za-z]{1,60})"/.exec(body)?.slice(1).find(Boolean) ?? null;

/** The same for a connection that failed. Anything else is passed on. */
export function asRefusal(error: unknown, shown: string): unknown {
  return error instanceof ConnectionFault ? new InputError(`cannot read ${shown}: ${error.message}`) : error;
}
