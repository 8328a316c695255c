import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeWithBrowser, expectToFit, HOSTILE, openFile, startBrowser } from '../helpers/browser.js';
import { whyslow } from '../helpers/cli.js';
import { pickled } from '../helpers/pickles.js';

/** Ranks 0 and 1 wait for rank 2 in a group of theirs; ranks 3 to 5 wait for rank 0 in a receive. */
function dumpOf(rank: number) {
  const groups = { tp: { name: 'tp', desc: HOSTILE, ranks: '[0, 1, 2]' } };
  const pipeline = Object.fromEntries(
    [3, 4, 5].map((r) => [`pp${r}`, { name: `pp${r}`, desc: `stage ${r}`, ranks: `[0, ${r}]` }]),
  );
  const reduce = (sequence: number, state: string) => ({
    process_group: ['tp', HOSTILE],
    profiling_name: 'nccl:all_reduce',
    is_p2p: false,
    collective_seq_id: sequence,
    state,
    time_created_ns: sequence,
  });
  const receive = {
    process_group: [`pp${rank}`, `stage ${rank}`],
    profiling_name: 'nccl:recv 1<-0',
    is_p2p: true,
    collective_seq_id: 0,
    p2p_seq_id: 1,
    state: 'started',
  };
  const done = reduce(1, 'completed');
  const entries = rank > 2 ? [receive] : rank === 2 ? [done] : [done, reduce(2, 'started')];
  return JSON.stringify({ version: '2.10', pg_config: { ...groups, ...pipeline }, pg_status: {}, entries });
}

const forward = [{ name: `forward ${HOSTILE}`, filename: '/job/model.py', line: 9 }];
const backward = [{ name: 'torch::autograd::Engine::thread_main(...)', filename: '??', line: 0 }];
const event = (action: string, addr: number, size: number, frames: unknown, time_us: number) => ({
  action,
  addr,
  size,
  frames,
  stream: 0,
  time_us,
});
const SNAPSHOT = {
  segments: [{ device: 0, address: 4096, total_size: 6e9, blocks: [] }],
  device_traces: [
    [
      event('segment_alloc', 4096, 6e9, forward, 0),
      event('alloc', 4096, 3e9, forward, 1e6),
      event('alloc', 4e9, 1e9, backward, 2e6),
      event('free_requested', 4e9, 1e9, [], 3e6),
      event('free_completed', 4e9, 1e9, [], 3e6),
      event('alloc', 5e9, 64, backward, 4e6),
    ],
  ],
};

describeWithBrowser('the page of a job that hangs, and of one that fills its memory', () => {
  const folder = mkdtempSync(join(tmpdir(), 'whyslow-stuck-page-'));
  const fileOf = (name: string) => join(folder, `${name}.html`);
  let browser: Browser;

  beforeAll(async () => {
    const dumps = join(folder, 'dumps');
    mkdirSync(dumps);
    for (const rank of [0, 1, 2, 3, 4, 5])
      writeFileSync(join(dumps, `nccl_trace_rank_${rank}`), dumpOf(rank));
    const snapshot = join(folder, 'snapshot.pickle');
    writeFileSync(snapshot, pickled(SNAPSHOT));
    [browser] = await Promise.all([
      startBrowser(),
      whyslow(['diagnose', dumps, '--html', fileOf('hang')]),
      whyslow(['diagnose', snapshot, '--html', fileOf('memory')]),
    ]);
  });
  afterAll(async () => {
    await browser?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it('draws who waits for whom: arrows lead to the rank that holds up the others, at the right', async () => {
    const { page, complaints } = await openFile(browser, fileOf('hang'), { colorScheme: 'dark' });
    const boxes = await page.locator('.wait-graph g').evaluateAll((all) =>
      all.map((g) => ({
        text: g.querySelector('text')!.textContent!.trim(),
        isCulprit: g.classList.contains('culprit'),
        x: g.getBoundingClientRect().x,
        fits: [...g.querySelectorAll('text')].every(
          (t) => t.getBoundingClientRect().right <= g.querySelector('rect')!.getBoundingClientRect().right,
        ),
      })),
    );
    expect(boxes.filter((b) => b.isCulprit).map((b) => b.text)).toEqual(['Rank 2']);
    expect(boxes.every((b) => b.fits)).toBe(true);
    const at = (text: string) => boxes.find((b) => b.text === text)!.x;
    expect(at('Ranks 0–1')).toBeLessThan(at('Rank 2'));
    expect(at('Rank 3')).toBeLessThan(at('Ranks 0–1'));
    expect(await page.locator('.wait-graph .arrow').count()).toBe(4);
    expect(await page.locator('#waits tr').first().textContent()).toContain(
      'Ranks 0–1 wait for rank 2in all_reduce #2',
    );
    expect(complaints).toEqual([]);
    expect(await page.evaluate('window.harmed')).toBeUndefined();
    await expectToFit(page);
    await page.close();
  });

  it('shows what holds the memory at its peak and over time, with the part of each kind', async () => {
    const { page, complaints } = await openFile(browser, fileOf('memory'), { colorScheme: 'dark' });
    const rows = await page.locator('#memory tr').allTextContents();
    expect(rows.map((row) => row.replace(/\s+/g, ' '))).toEqual([
      expect.stringMatching(/^Activations\s?3\.00 GB\s?75%\s?job\/model\.py:9/),
      expect.stringMatching(/^Temporaries\s?1\.00 GB\s?25%\s?the backward pass/),
    ]);
    const width = (i: number) =>
      page
        .locator('#memory .step-bar .part')
        .nth(i)
        .evaluate((e) => e.getBoundingClientRect().width);
    expect((await width(0)) / (await width(1))).toBeCloseTo(3, 1);
    // The highest slice fills the chart; after the free only the activations are left.
    const heights = await page
      .locator('#memory .slices > div')
      .evaluateAll((all) =>
        all.map((d) => [...d.children].reduce((sum, i) => sum + i.getBoundingClientRect().height, 0)),
      );
    const chart = (await page.locator('#memory .slices').boundingBox())!.height;
    expect(Math.max(...heights)).toBeCloseTo(chart, 0);
    expect(heights.at(-1)! / chart).toBeCloseTo(0.75, 1);
    expect(complaints).toEqual([]);
    expect(await page.evaluate('window.harmed')).toBeUndefined();
    await expectToFit(page);
    await page.close();
  });
});
