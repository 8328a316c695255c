import { mkdir, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { unpack } from '../../src/base/packed.js';
import type { DrawnSlices, TimelineTracks, TrackInfo } from '../../src/drawing/timeline.js';
import type { PageData, PageState } from '../../src/page/page-data.js';
import { inFolder, whyslow } from '../helpers/cli.js';
import { type OpenServer, openServer } from '../helpers/open.js';
import { slowInput } from '../helpers/slow-input.js';

const TRACE = 'zoo/fixtures/data_io_w0/rank0.json.gz';

describe('whyslow open', () => {
  let server: OpenServer;
  beforeAll(async () => {
    server = await openServer(TRACE);
  });
  afterAll(() => server?.child.kill('SIGKILL'));

  const get = (path: string, init: RequestInit = {}) => fetch(server.url + path, init);
  /** `fetch` does not let us choose the Host header. */
  const withHost = (host: string) =>
    new Promise<number>((resolve, reject) => {
      const asked = request(server.url, { headers: { host } }, (answer) =>
        resolve(answer.resume().statusCode!),
      );
      asked.on('error', reject).end();
    });

  it('says the verdict and an address on the loopback device', () => {
    expect(server.said.stdout).toMatch(/^Data-bound: .*\nhttp:\/\/127\.0\.0\.1:\d+\/[0-9a-f]{32}\/\n$/);
  });

  it('answers only those who know the token, under its own name, and only GET', async () => {
    const { origin, port } = new URL(server.url);
    expect((await fetch(`${origin}/`)).status).toBe(403);
    expect((await fetch(`${origin}/data/page`)).status).toBe(403);
    expect((await fetch(`${origin}/${'0'.repeat(32)}/data/page`)).status).toBe(403);
    expect(await withHost(`127.0.0.1:${port}`)).toBe(200);
    expect(await withHost(`localhost:${port}`)).toBe(200);
    expect(await withHost(`evil.example:${port}`)).toBe(403);
    expect(await withHost('127.0.0.1')).toBe(403);
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS'])
      expect((await get('', { method })).status, method).toBe(405);
    expect((await get('../dist/cli.js')).status).toBe(403);
    expect((await get('%2e%2e/package.json')).status).not.toBe(200);
    expect((await get('package.json')).status).toBe(404);
  });

  it('sends a strict policy with everything', async () => {
    for (const path of ['', 'page.js', 'page.css', 'data/page', 'nothing']) {
      const { headers } = await get(path);
      const policy = headers.get('content-security-policy');
      expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'");
      expect(policy).not.toMatch(/unsafe|\*|https?:/);
      expect(headers.get('cross-origin-resource-policy')).toBe('same-origin');
      expect(headers.get('access-control-allow-origin')).toBeNull();
    }
  });

  it('lets the thread that reads dropped traces run WebAssembly and reach nothing', async () => {
    const policy = (await get('reader.js')).headers.get('content-security-policy');
    expect(policy).toBe("default-src 'none'; script-src 'self' 'wasm-unsafe-eval'");
  });

  it('sends the page and the timeline', async () => {
    const bytes = async (path: string) => new Uint8Array(await (await get(path)).arrayBuffer());
    const page = unpack<PageData>(await bytes('data/page'));
    expect(page.report.verdict.bottleneck).toBe('data');
    const tracks = (await (await get('data/timeline')).json()) as TimelineTracks;
    expect(tracks.ranks.map((r) => r.rank)).toEqual([0]);
    const infos = (await (await get('data/timeline/open?rank=0')).json()) as TrackInfo[];
    expect(infos.map((i) => i.kind)).toEqual(expect.arrayContaining(['classes', 'stream', 'thread']));
    const query = `rank=0&from=${tracks.from}&to=${tracks.to}&width=800&tracks=${infos.map((_, i) => i).join()}`;
    const drawn = unpack<DrawnSlices[]>(await bytes(`data/timeline/slices?${query}`));
    expect(drawn.length).toBe(infos.length);
    drawn.forEach((slices, i) => {
      expect(slices.length).toBeGreaterThan(0);
      expect(slices.length).toBeLessThanOrEqual(infos[i]!.rows * (2 * 800 + 4));
      expect(slices.count.reduce((n, c) => n + c, 0)).toBe(infos[i]!.slices);
    });
  });

  it('refuses questions that make no sense', async () => {
    const statusOf = async (path: string) => (await get(`data/timeline/${path}`)).status;
    expect(await statusOf('open?rank=7')).toBe(400);
    expect(await statusOf('open')).toBe(400);
    expect(await statusOf('slices?rank=0&tracks=99&from=0&to=1&width=9')).toBe(400);
    expect(await statusOf('detail?rank=0&track=0&row=0&index=-1')).toBe(400);
    expect(await statusOf('totals?rank=0&from=x&to=1')).toBe(400);
    expect(await statusOf('nothing')).toBe(404);
  });

  it('says so when the port is taken, and ends with Ctrl-C', async () => {
    const { port } = new URL(server.url);
    const second = await whyslow(['open', '--no-open', '--port', port, TRACE]);
    expect(second.code).toBe(2);
    expect(second.stderr).toContain(`cannot listen on port ${port}`);
    expect(await server.stop()).toBe(0);
    await expect(get('')).rejects.toThrow();
  });
});

it('whyslow open of a job that still runs follows it', () =>
  inFolder(async (out) => {
    await slowInput(out);
    const manifest = (...at: readonly string[]) =>
      JSON.stringify({
        rank: 0,
        run: 'r',
        host: 'elsewhere',
        pid: 1,
        anchors: at.map((name) => ({ at: name })),
      });
    await mkdir(join(out, 'ranks'));
    await writeFile(join(out, 'ranks', 'rank_0.json'), manifest('start'));
    const server = await openServer(out);
    const state = async () => (await (await fetch(`${server.url}data/state`)).json()) as PageState;
    try {
      expect(server.said.stderr).toContain('the job still runs, and the page follows it');
      expect(await state()).toMatchObject({ of: 'running', version: 1, lastStep: 3990 });
      // What `whyslow watch` finds meanwhile is new, too.
      expect((await whyslow(['watch', out, '--once'])).code).toBe(0);
      for (let found = await state(); found.version === 1; found = await state()) await sleep(100);
      const page = unpack<PageData>(
        new Uint8Array(await (await fetch(`${server.url}data/page`)).arrayBuffer()),
      );
      expect(page.report.incidents).toHaveLength(1);
    } finally {
      await server.stop();
    }
    await writeFile(join(out, 'ranks', 'rank_0.json'), manifest('start', 'end'));
    const ended = await openServer(out);
    expect(ended.said.stderr).not.toContain('still runs');
    await ended.stop();
  }));
