import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { InputError } from '../../base/input-error.js';
import { bucketAndKey } from './address.js';
import type { Variables } from './aws-login.js';
import { type Answer, get, type Headers, retried, textOf } from './http.js';
import { ListPages, MOST_PAGE_BYTES, type RemoteFile, refusal, type Store } from './store.js';

/** gcloud's tokens last an hour. */
const TOKEN_MS = 45 * 60_000;

/** Objects of Google Cloud Storage. */
export class GcsStore implements Store {
  readonly #env: Variables;
  #token: Promise<string | null> | null = null;
  #askedAt = 0;

  constructor(env: Variables) {
    this.#env = env;
  }

  fetch(path: string, headers: Headers): Promise<Answer> {
    const { bucket, key } = bucketAndKey(path);
    if (key === '') throw new InputError(`${path} names a bucket, not an object`);
    // Without this header the store unpacks objects that were uploaded packed, and ranges mean something else.
    return this.#send(`b/${encodeURIComponent(bucket)}/o/${encodeURIComponent(key)}?alt=media`, {
      'accept-encoding': 'gzip',
      ...headers,
    });
  }

  readonly list = async function* (this: GcsStore, prefix: string): AsyncGenerator<RemoteFile> {
    const { bucket, key } = bucketAndKey(prefix);
    const pages = new ListPages(prefix);
    let pageToken: string | null = null;
    do {
      const query = new URLSearchParams({ prefix: key, fields: 'items(name,size),nextPageToken' });
      if (pageToken !== null) query.set('pageToken', pageToken);
      const answer = await this.#send(`b/${encodeURIComponent(bucket)}/o?${query}`, {});
      if (answer.status !== 200) throw await refusal(prefix, answer, this);
      const page = parsed(await textOf(answer, MOST_PAGE_BYTES), prefix);
      for (const item of Array.isArray(page.items) ? page.items : []) {
        const { name, size } = (item ?? {}) as { readonly name?: unknown; readonly size?: unknown };
        if (typeof name === 'string') yield { path: `gs://${bucket}/${name}`, size: Number(size) || 0 };
      }
      pageToken = typeof page.nextPageToken === 'string' ? pages.next(page.nextPageToken) : null;
    } while (pageToken);
  }.bind(this);

  async login(): Promise<string> {
    return (await this.#login()) === null
      ? 'no Google login was found (GOOGLE_OAUTH_ACCESS_TOKEN, `gcloud auth login`)'
      : `logged in with ${this.#env.GOOGLE_OAUTH_ACCESS_TOKEN ? 'GOOGLE_OAUTH_ACCESS_TOKEN' : 'gcloud'}`;
  }

  #send(path: string, headers: Headers): Promise<Answer> {
    const emulator = this.#env.STORAGE_EMULATOR_HOST;
    const base = emulator
      ? emulator.replace(/^(?!https?:\/\/)/, 'http://')
      : 'https://storage.googleapis.com';
    return retried(async () => {
      const token = await this.#login();
      const secret: Headers = token === null ? {} : { authorization: `Bearer ${token}` };
      return get(new URL(`${base.replace(/\/+$/, '')}/storage/v1/${path}`), { ...headers, ...secret });
    });
  }

  /** Null: requests go without a login, which is enough for public buckets. */
  #login(): Promise<string | null> {
    const { GOOGLE_OAUTH_ACCESS_TOKEN: given, STORAGE_EMULATOR_HOST } = this.#env;
    if (given) return Promise.resolve(given);
    if (STORAGE_EMULATOR_HOST) return Promise.resolve(null);
    if (!this.#token || Date.now() - this.#askedAt > TOKEN_MS) {
      this.#askedAt = Date.now();
      this.#token = fromTool(this.#env);
    }
    return this.#token;
  }
}

async function fromTool(env: Variables): Promise<string | null> {
  const folder = env.CLOUDSDK_CONFIG || join(homedir(), '.config', 'gcloud');
  if (!existsSync(folder)) return null;
  try {
    const options = { env: env as NodeJS.ProcessEnv, timeout: 60_000 };
    const { stdout } = await promisify(execFile)('gcloud', ['auth', 'print-access-token'], options);
    return stdout.trim() || null;
  } catch {
    return null;
  }
}

interface Page {
  readonly items?: unknown;
  readonly nextPageToken?: unknown;
}

function parsed(text: string, prefix: string): Page {
  try {
    return (JSON.parse(text) ?? {}) as Page;
  } catch {
    throw new InputError(`cannot list ${prefix}: the answer is not JSON`);
  }
}
