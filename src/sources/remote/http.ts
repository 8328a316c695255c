import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../base/input-error.js';

export type Headers = Readonly<Record<string, string>>;

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Readable;
}

/** The connection failed or stood still; another attempt may help. */
export class ConnectionFault extends Error {
  override readonly name = 'ConnectionFault';
}

/** A server that says nothing for this long is taken for dead. In seconds, for networks that are slower than that. */
export function patienceMs(): number {
  const seconds = Number(process.env.WHYSLOW_HTTP_TIMEOUT);
  return seconds > 0 ? seconds * 1000 : 30_000;
}

/** One request. Waits for the answer's head. `headers` go to this host only; redirects are the caller's. */
export function get(url: URL, headers: Headers, timeoutMs = patienceMs(), method = 'GET'): Promise<Answer> {
  const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const request = send(url, { method, headers: { 'user-agent': 'whyslow', ...headers } }, (body) => {
      clearTimeout(timer);
      resolve({ status: body.statusCode ?? 0, headers: body.headers, body });
    });
    const fail = (reason: string) => {
      clearTimeout(timer);
      reject(new ConnectionFault(reason));
      request.destroy();
    };
    const timer = setTimeout(() => fail(`no answer within ${timeoutMs / 1000} s`), timeoutMs);
    request.on('error', (error) => fail(reasonOf(error)));
    request.end();
  });
}

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was cut',
  ERR_STREAM_PREMATURE_CLOSE: 'the connection was cut',
  ENOTFOUND: 'there is no such host',
  EAI_AGAIN: 'the name of the host could not be looked up',
  ETIMEDOUT: 'the host does not answer',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the network cannot be reached',
};

export function reasonOf(error: unknown): string {
  const { code, errors } = error as { code?: string; errors?: readonly unknown[] };
  // A host with several addresses gives an error for each.
  if (errors?.length) return reasonOf(errors[0]);
  return REASONS[code ?? ''] ?? (messageOf(error) || 'the connection failed');
}

/** Up to `limit` bytes of an answer. */
export async function textOf({ body }: Answer, limit: number): Promise<string> {
  const parts: Buffer[] = [];
  let size = 0;
  const timer = setTimeout(
    () => body.destroy(new ConnectionFault('the answer stood still')),
    2 * patienceMs(),
  );
  try {
    for await (const part of body as AsyncIterable<Buffer>) {
      parts.push(part);
      size += part.length;
      if (size > limit) throw new ConnectionFault('the answer is too long');
    }
  } catch (error) {
    throw error instanceof ConnectionFault ? error : new ConnectionFault(reasonOf(error));
  } finally {
    clearTimeout(timer);
    body.destroy();
  }
  return Buffer.concat(parts).toString('utf8');
}

/** Too busy, or broken for the moment. */
const TRY_AGAIN = [408, 425, 429, 500, 502, 503, 504];
const MAX_ATTEMPTS = 6;
const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 20_000;

/** Waits before attempt number `attempt` (1 is the second). Random, so that a thousand readers do not come back at once. */
export async function pause(attempt: number, answer: Answer | null = null): Promise<void> {
  const asked = Number(answer?.headers['retry-after']) * 1000;
  const longest = Math.min(LONGEST_PAUSE_MS, patienceMs());
  const most = Math.min(longest, FIRST_PAUSE_MS * 2 ** (attempt - 1));
  await sleep(asked > 0 ? Math.min(asked, longest) : most * (0.5 + Math.random() / 2));
}

/** Repeats a request while the connection fails or the server is too busy. Returns the last answer. */
export async function retried(send: () => Promise<Answer>): Promise<Answer> {
  for (let attempt = 1; ; attempt++) {
    const answer = await send().catch((error: unknown) => {
      if (!(error instanceof ConnectionFault) || attempt >= MAX_ATTEMPTS) throw error;
      return null;
    });
    if (answer && (!TRY_AGAIN.includes(answer.status) || attempt >= MAX_ATTEMPTS)) return answer;
    answer?.body.destroy();
    await pause(attempt, answer);
  }
}

export { MAX_ATTEMPTS };
