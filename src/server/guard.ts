import { timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** Why a request is refused. */
export interface Refusal {
  readonly status: number;
  readonly text: string;
}

/** The page may load what this server sends and nothing else, and may not be framed. */
export const HEADERS: Readonly<Record<string, string>> = {
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src data: blob:; connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'Cache-Control': 'no-store',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
};

/** The thread that reads dropped files runs WebAssembly and reaches nothing, not even this server. */
export const READER_POLICY = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'";

/**
 * The path after the token, or why there is no answer. A page of another site can make a browser send requests here, even
 * under a name of its own that leads to 127.0.0.1: so the Host header and the token are checked, and nothing can be changed.
 */
export function admit(request: IncomingMessage, port: number, token: string): URL | Refusal {
  const { host = '' } = request.headers;
  if (host !== `127.0.0.1:${port}` && host !== `localhost:${port}`)
    return { status: 403, text: 'wrong host' };
  if (request.method !== 'GET') return { status: 405, text: 'only GET' };
  const base = `http://${host}`;
  const url = new URL(URL.canParse(request.url ?? '', base) ? request.url! : '/', base);
  const [, given = '', ...rest] = url.pathname.split('/');
  if (!isSame(given, token))
    return { status: 403, text: 'wrong token: use the address that whyslow open printed' };
  url.pathname = `/${rest.join('/')}`;
  return url;
}

function isSame(given: string, token: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(token)];
  return a.length === b.length && timingSafeEqual(a, b);
}
