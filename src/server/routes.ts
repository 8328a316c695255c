import { timingSafeEqual } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { packageRoot } from '../base/package-root.js';
import { pack } from '../base/packed.js';
import type { TimelineSource } from '../drawing/timeline.js';
import type { OpenedRun } from '../library/open-stream.js';
import type { PageState } from '../page/page-data.js';
import { pageTitle, renderHtmlShell } from '../render/html.js';

/** Why a request is refused. */
interface Refusal {
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
const READER_POLICY = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'";

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

export interface Answer {
  readonly type: string;
  readonly body: string | Uint8Array;
  /** Instead of the usual one. */
  readonly policy?: string | undefined;
}

const json = (value: unknown): Answer => ({ type: 'application/json', body: JSON.stringify(value) });

/** A question that makes no sense. */
export class BadRequest extends Error {}

/** What the page may ask for. Null: there is no such address. */
export async function answer(shown: Shown, { pathname, searchParams }: URL): Promise<Answer | null> {
  const file = FILES[pathname];
  if (file) return { type: file.type, body: await asset(file.name), policy: file.policy };
  const page = shown.run?.page;
  const timeline = shown.run?.timeline ?? null;
  if (pathname === '/') {
    const title = page ? pageTitle(page) : (shown.title ?? 'Why is it slow?');
    return { type: 'text/html; charset=utf-8', body: renderHtmlShell(title, SHELL) };
  }
  if (pathname === '/data/state') return json(shown.state());
  if (pathname === '/data/page' && page) return { type: 'application/octet-stream', body: pack(page) };
  if (pathname === '/data/timeline') return json(timeline ? await timeline.tracks() : null);
  return timeline && pathname.startsWith('/data/timeline/')
    ? ask(timeline, pathname.slice('/data/timeline/'.length), searchParams)
    : null;
}

async function ask(
  timeline: TimelineSource,
  question: string,
  query: URLSearchParams,
): Promise<Answer | null> {
  const number = (name: string) => numberIn(query, name);
  const range = () => ({ from: number('from'), to: number('to') });
  const slice = () => ({
    rank: number('rank'),
    track: number('track'),
    row: number('row'),
    index: number('index'),
  });
  switch (question) {
    case 'open':
      return json(await timeline.open(number('rank')));
    case 'slices': {
      const [rank, width] = [number('rank'), Math.min(8192, number('width'))];
      const tracks = numbersIn(query, 'tracks', MOST_TRACKS);
      const drawn = tracks.map((track) => timeline.slices({ rank, track, width, ...range() }));
      return { type: 'application/octet-stream', body: pack(await Promise.all(drawn)) };
    }
    case 'detail':
      return json(await timeline.detail(slice()));
    case 'search':
      return json(
        await timeline.search(
          (query.get('text') ?? '').slice(0, 500),
          Math.min(MOST_HITS, number('limit')),
          numbersIn(query, 'ranks', MOST_RANKS),
        ),
      );
    case 'totals':
      return json(await timeline.totals({ rank: number('rank'), ...range() }));
    case 'arrows':
      return json(await timeline.arrows({ ...range(), ranks: numbersIn(query, 'ranks', MOST_RANKS) }));
    default:
      return null;
  }
}

const MOST_HITS = 10_000;
const MOST_RANKS = 64;
const MOST_TRACKS = 256;

function numberIn(query: URLSearchParams, name: string): number {
  const value = Number(query.get(name) ?? Number.NaN);
  if (!Number.isFinite(value)) throw new BadRequest(`${name} must be a number`);
  return value;
}

const numbersIn = (query: URLSearchParams, name: string, most: number) =>
  (query.get(name) ?? '')
    .split(',')
    .filter((r) => /^\d{1,9}$/.test(r))
    .slice(0, most)
    .map(Number);

const asset = (name: string) => readFile(new URL(`dist/page/${name}`, packageRoot()));

const SCRIPT = 'text/javascript; charset=utf-8';
const FILES: Readonly<
  Record<string, { readonly name: string; readonly type: string; readonly policy?: string }>
> = {
  '/page.js': { name: 'page.js', type: SCRIPT },
  '/page.css': { name: 'page.css', type: 'text/css; charset=utf-8' },
  '/reader.js': { name: 'reader.js', type: SCRIPT, policy: READER_POLICY },
};

const SHELL = { script: 'page.js', style: 'page.css' };

/** What a server shows. It may change while it is shown. */
export interface Shown {
  readonly title: string | null;
  /** Null: nothing, or nothing yet. */
  readonly run: OpenedRun | null;
  state(): PageState;
}

/** A run that was read once; null for a page that only waits for files to be dropped. */
export const shownRun = (run: OpenedRun | null, title: string | null = null): Shown => ({
  title,
  run,
  state: () => ({
    of: run ? 'whole' : 'empty',
    version: run ? 1 : 0,
    lastStep: null,
    age: 0,
    folder: null,
  }),
});
