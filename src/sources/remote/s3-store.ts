import { Readable } from 'node:stream';
import { InputError } from '../../base/input-error.js';
import { bucketAndKey, encodedKey } from './address.js';
import { type AwsKeys, type AwsProfile, findKeys, readProfile, type Variables } from './aws-login.js';
import { type Answer, get, type Headers, retried, textOf } from './http.js';
import { codeIn, ListPages, MOST_PAGE_BYTES, type RemoteFile, refusal, type Store } from './store.js';

/** Keys that expire within this many ms are asked for again. */
const SOON = 60_000;

/** Objects of S3, and of stores that speak its protocol (AWS_ENDPOINT_URL_S3). */
export class S3Store implements Store {
  readonly #env: Variables;
  readonly #profile: AwsProfile;
  #keys: Promise<AwsKeys | null> | null = null;
  /** Of buckets in another region than the settings say. */
  readonly #regions = new Map<string, string>();

  constructor(env: Variables) {
    this.#env = env;
    this.#profile = readProfile(env);
  }

  async fetch(path: string, headers: Headers): Promise<Answer> {
    const { bucket, key } = bucketAndKey(path);
    if (key === '') throw new InputError(`${path} names a bucket, not an object`);
    return this.#send(bucket, encodedKey(key), '', { 'accept-encoding': 'identity', ...headers });
  }

  readonly list = async function* (this: S3Store, prefix: string): AsyncGenerator<RemoteFile> {
    const { bucket, key } = bucketAndKey(prefix);
    const pages = new ListPages(prefix);
    let token: string | null = null;
    do {
      const query = new URLSearchParams({ 'list-type': '2', 'encoding-type': 'url', prefix: key });
      if (token !== null) query.set('continuation-token', token);
      const answer = await this.#send(bucket, '', query.toString().replaceAll('+', '%20'), {});
      if (answer.status !== 200) throw await refusal(prefix, answer, this);
      const page = await textOf(answer, MOST_PAGE_BYTES);
      // Split, not matched: without an end, each beginning would be searched to the end of the page.
      for (const entry of page.split('<Contents>').slice(1)) {
        const name = decodedKey(fieldOf(entry, 'Key') ?? '');
        yield { path: `s3://${bucket}/${name}`, size: Number(fieldOf(entry, 'Size')) || 0 };
      }
      token =
        fieldOf(page, 'IsTruncated') === 'true' ? pages.next(fieldOf(page, 'NextContinuationToken')) : null;
    } while (token);
  }.bind(this);

  async login(): Promise<string> {
    const found = await this.#login();
    return found
      ? `logged in with ${found.from}`
      : 'no AWS keys were found (AWS_ACCESS_KEY_ID, AWS_PROFILE, ~/.aws/credentials)';
  }

  async #send(bucket: string, key: string, query: string, headers: Headers): Promise<Answer> {
    for (let attempt = 0; ; attempt++) {
      const answer = await retried(async () => {
        const url = this.#urlOf(bucket, key, query);
        return get(url, await this.#signed(url, headers, bucket));
      });
      if (attempt > 0 || answer.status < 300) return answer;
      const region = answer.headers['x-amz-bucket-region'];
      if (typeof region === 'string' && /^[a-z0-9-]+$/.test(region) && region !== this.#regionOf(bucket)) {
        this.#regions.set(bucket, region);
      } else if (answer.status === 400 || answer.status === 403) {
        // The rest of the answer is needed for the message, unless the keys have only expired.
        const text = await textOf(answer, 1 << 20).catch(() => '');
        if (codeIn(text) !== 'ExpiredToken') return { ...answer, body: Readable.from([Buffer.from(text)]) };
        this.#keys = null;
      } else return answer;
      answer.body.destroy();
    }
  }

  #regionOf(bucket: string): string {
    const { AWS_REGION, AWS_DEFAULT_REGION } = this.#env;
    return (
      this.#regions.get(bucket) ||
      AWS_REGION ||
      AWS_DEFAULT_REGION ||
      this.#profile.get('region') ||
      'us-east-1'
    );
  }

  #endpoint(): string | undefined {
    const { AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, AWS_IGNORE_CONFIGURED_ENDPOINT_URLS } = this.#env;
    if (AWS_IGNORE_CONFIGURED_ENDPOINT_URLS?.toLowerCase() === 'true') return undefined;
    return AWS_ENDPOINT_URL_S3 || AWS_ENDPOINT_URL || this.#profile.endpoint;
  }

  #urlOf(bucket: string, key: string, query: string): URL {
    const endpoint = this.#endpoint();
    if (!/^[A-Za-z0-9][A-Za-z0-9._-]{1,253}$/.test(bucket))
      throw new InputError(`s3://${bucket} is not a bucket's name`);
    if (endpoint !== undefined && !/^https?:\/\//.test(endpoint))
      throw new InputError('AWS_ENDPOINT_URL_S3 must be an address such as https://s3.example.com');
    const host = `s3.${this.#regionOf(bucket)}.amazonaws.com`;
    // Certificates do not cover buckets with dots, and few other stores have a host for each bucket.
    const base = endpoint?.replace(/\/+$/, '') ?? `https://${host}`;
    const isOwnHost = endpoint === undefined && !bucket.includes('.');
    const url = new URL(isOwnHost ? `https://${bucket}.${host}/${key}` : `${base}/${bucket}/${key}`);
    url.search = query;
    return url;
  }

  async #login(): Promise<AwsKeys | null> {
    const known = await this.#keys;
    if (this.#keys && (!known?.expires || known.expires > Date.now() + SOON)) return known;
    this.#keys = findKeys(this.#env, this.#profile);
    // A failure is not kept: the next file may be luckier.
    this.#keys.catch(() => {
      this.#keys = null;
    });
    return this.#keys;
  }

  async #signed(url: URL, headers: Headers, bucket: string): Promise<Headers> {
    const found = await this.#login();
    if (!found) return headers;
    // Loaded when needed: most files are on disks.
    const { AwsV4Signer } = await import('aws4fetch');
    const { accessKeyId, secretAccessKey, sessionToken } = found;
    const signer = new AwsV4Signer({
      url: url.href,
      headers: { ...headers },
      accessKeyId,
      secretAccessKey,
      ...(sessionToken === undefined ? {} : { sessionToken }),
      service: 's3',
      region: this.#regionOf(bucket),
    });
    const signed = await signer.sign();
    return Object.fromEntries(signed.headers);
  }
}

function fieldOf(xml: string, name: string): string | null {
  const [start, end] = [`<${name}>`, `</${name}>`];
  const from = xml.indexOf(start);
  const to = from < 0 ? -1 : xml.indexOf(end, from);
  return to < 0 ? null : unescapeXml(xml.slice(from + start.length, to));
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };
const unescapeXml = (text: string): string =>
  text.replace(/&(amp|lt|gt|quot|apos);/g, (_, name: string) => ENTITIES[name]!);

/** Keys are encoded in lists, because XML has no control characters. */
function decodedKey(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', '%20'));
  } catch {
    return text;
  }
}
