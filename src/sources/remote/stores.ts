import { InputError } from '../../base/input-error.js';
import { schemeOf, shownAddress } from './address.js';
import { GcsStore } from './gcs-store.js';
import { type Answer, get, type Headers, retried } from './http.js';
import { S3Store } from './s3-store.js';
import type { Store } from './store.js';

/** What decides who logs in where. Keys are looked for once, as long as these stay the same. */
const SETTINGS = /^(?:AWS_|GOOGLE_|CLOUDSDK_|STORAGE_EMULATOR_HOST$|HOME$)/;

class Stores {
  #settings = '';
  #s3 = new S3Store({});
  #gcs = new GcsStore({});

  of(path: string): Store {
    const settings = JSON.stringify(Object.entries(process.env).filter(([name]) => SETTINGS.test(name)));
    if (settings !== this.#settings) {
      this.#settings = settings;
      this.#s3 = new S3Store({ ...process.env });
      this.#gcs = new GcsStore({ ...process.env });
    }
    const scheme = schemeOf(path);
    return scheme === 's3' ? this.#s3 : scheme === 'gs' ? this.#gcs : webStore;
  }
}

/** One for each thread: keys and tokens are asked for once. */
const stores = new Stores();

export const storeOf = (path: string): Store => stores.of(path);

const MAX_REDIRECTS = 5;

/** Files of web servers, and presigned addresses of any store. */
const webStore: Store = {
  fetch: (path, headers) => retried(() => follow(asUrl(path), { 'accept-encoding': 'identity', ...headers })),
  list: null,
  login: async () => 'the address needs a login that it does not have, or its signature has expired',
};

function asUrl(path: string): URL {
  try {
    return new URL(path);
  } catch {
    throw new InputError(`${shownAddress(path)} is not a valid address`);
  }
}

/** Passwords go to the host of the address and to no other. */
async function follow(first: URL, headers: Headers): Promise<Answer> {
  const login = first.username
    ? `${decodeURIComponent(first.username)}:${decodeURIComponent(first.password)}`
    : null;
  let url = withoutLogin(first);
  const { origin } = url;
  for (let redirects = 0; ; redirects++) {
    const isOwn = login !== null && url.origin === origin;
    const secret: Headers = isOwn ? { authorization: `Basic ${Buffer.from(login).toString('base64')}` } : {};
    const answer = await get(url, { ...headers, ...secret });
    const { location } = answer.headers;
    if (![301, 302, 303, 307, 308].includes(answer.status) || location === undefined) return answer;
    answer.body.destroy();
    const next = URL.canParse(location, url.href) ? withoutLogin(new URL(location, url)) : null;
    const shown = shownAddress(first.href);
    if (redirects >= MAX_REDIRECTS) throw new InputError(`cannot read ${shown}: it is redirected too often`);
    if (!next || !/^https?:$/.test(next.protocol) || (url.protocol === 'https:' && next.protocol === 'http:'))
      throw new InputError(`cannot read ${shown}: it is redirected to an address that is not safe`);
    url = next;
  }
}

function withoutLogin(url: URL): URL {
  const plain = new URL(url);
  plain.username = '';
  plain.password = '';
  plain.hash = '';
  return plain;
}
