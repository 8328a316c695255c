import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { TIME_CLASSES } from '../../src/facts/time-class.js';
import { diagnoseInFull } from '../../src/library/diagnose.js';
import { formatNs } from '../../web/timeline/names.js';
import { describeWithBrowser, HOSTILE, openAddress, startBrowser } from '../helpers/browser.js';
import { whyslow } from '../helpers/cli.js';
import { type OpenServer, openServer } from '../helpers/open.js';

const DATA_BOUND = 'zoo/fixtures/data_io_w0';
const RANKS = 'test/fixtures/zoo-ranks/straggler_gpu';

describeWithBrowser('the timeline in a browser', () => {
  const folder = mkdtempSync(join(tmpdir(), 'whyslow-timeline-'));
  const file = join(folder, 'page.html');
  let browser: Browser;
  let server: OpenServer;
  let ranks: OpenServer;

  beforeAll(async () => {
    const trace = join(folder, 'rank0.json.gz');
    const text = gunzipSync(readFileSync(join(DATA_BOUND, 'rank0.json.gz'))).toString();
    const named = JSON.stringify(HOSTILE).slice(1, -1);
    writeFileSync(trace, gzipSync(text.replaceAll('Memcpy HtoD', `Memcpy HtoD ${named}`)));
    [browser, server, ranks] = await Promise.all([
      startBrowser(),
      openServer(trace),
      openServer(RANKS),
      whyslow(['diagnose', trace, '--html', file]),
    ]);
  });
  afterAll(async () => {
    await browser?.close();
    server?.child.kill('SIGKILL');
    ranks?.child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });

  async function open(address: string) {
    const opened = await openAddress(browser, address, { viewport: { width: 1280, height: 900 } });
    await opened.page.locator('.tl').scrollIntoViewIfNeeded();
    await drawn(opened.page);
    return opened;
  }
  const drawn = (page: Page) => page.waitForSelector('.tl-canvas[data-drawn=true]');
  const shown = (page: Page) => /t=([\d.]+)-([\d.]+)/.exec(page.url())?.slice(1).map(Number) ?? null;
  /** The address follows when the view rests. */
  const rested = (page: Page, before: string) =>
    expect.poll(() => page.url(), { timeout: 10_000 }).not.toBe(before);

  it.each([
    ['whyslow open', () => server.url],
    ['the file', () => `file://${file}`],
  ])(
    'the timeline in a browser of %s gives the report’s figures for a step, finds kernels and keeps names as text',
    async (_, address) => {
      const { page, complaints } = await open(address());
      const { diagnosis } = await diagnoseInFull(DATA_BOUND);
      const { facts } = diagnosis.views[0]!;
      const box = (await page.locator('.tl-canvas').boundingBox())!;
      // The head of the rank holds its three steps; this is in the second.
      await page.mouse.click(box.x + 190 + (box.width - 190) * 0.45, box.y + 60);
      await page.waitForSelector('.tl-classes');
      const heading = await page.textContent('.tl-picked h3');
      const step = Number(/Step (\d+)/.exec(heading!)![1]);
      const times = facts.timePerStep[facts.steps.indices.indexOf(step)]!;
      const cells = await page.locator('.tl-classes td').allTextContents();
      const expected = TIME_CLASSES.filter((c) => times[c] > 0).map((c) => formatNs(times[c]));
      expect(cells.map((c) => c.replace(/ [\d.]+%$/, ''))).toEqual(expected);

      await page.locator('.tl-search input').fill('memcpy htod');
      await page.keyboard.press('Enter');
      await page.waitForSelector('.tl-name');
      expect(await page.textContent('.tl-name')).toContain(HOSTILE);
      expect(await page.textContent('.tl-search output')).toMatch(/^1 of \d+$/);
      await page.keyboard.press('Enter');
      await expect.poll(() => page.textContent('.tl-search output')).toMatch(/^2 of \d+$/);
      await page.keyboard.press('Shift+Enter');
      await expect.poll(() => page.textContent('.tl-search output')).toMatch(/^1 of \d+$/);
      expect(await page.locator('img').count()).toBe(0);
      expect(await page.evaluate('window.harmed')).toBeUndefined();
      expect(complaints).toEqual([]);
      await page.close();
    },
  );

  it('moves with keys and wheel, and the address follows', async () => {
    const { page, complaints } = await open(ranks.url);
    await rested(page, ranks.url);
    const first = shown(page)!;
    await page.locator('.tl-canvas').focus();
    let before = page.url();
    await page.keyboard.down('d');
    await page.waitForTimeout(250);
    await page.keyboard.up('d');
    await rested(page, before);
    const moved = shown(page)!;
    expect(moved[0]).toBeGreaterThan(first[0]!);
    expect(moved[1]! - moved[0]!).toBeCloseTo(first[1]! - first[0]!, -3);
    before = page.url();
    await page.keyboard.press('+');
    await rested(page, before);
    const zoomed = shown(page)!;
    expect(zoomed[1]! - zoomed[0]!).toBeLessThan(0.8 * (moved[1]! - moved[0]!));
    before = page.url();
    const box = (await page.locator('.tl-canvas').boundingBox())!;
    await page.mouse.move(box.x + 700, box.y + 200);
    await page.keyboard.down('Control');
    await page.mouse.wheel(0, 400);
    await page.keyboard.up('Control');
    await rested(page, before);
    const out = shown(page)!;
    expect(out[1]! - out[0]!).toBeGreaterThan(1.5 * (zoomed[1]! - zoomed[0]!));
    expect(complaints).toEqual([]);
    await page.close();
  });

  it('totals a dragged range on all ranks it covers, and shows the late one', async () => {
    const { page, complaints } = await open(ranks.url);
    const box = (await page.locator('.tl-canvas').boundingBox())!;
    await page.mouse.move(box.x + 400, box.y + 100);
    await page.mouse.down();
    await page.mouse.move(box.x + 800, box.y + 360, { steps: 4 });
    await page.mouse.up();
    await page.waitForSelector('.tl-classes');
    const heads = await page.locator('.tl-classes thead th').allTextContents();
    // The late rank comes first.
    expect(heads).toEqual(['Class', 'Rank 1', 'Rank 0']);
    await page.locator('.tl-ranks input').fill('1, 3');
    await page.keyboard.press('Tab');
    await drawn(page);
    await page.locator('.tl-canvas').focus();
    await page.keyboard.press('Escape');
    expect(await page.locator('.tl-classes').count()).toBe(0);
    expect(complaints).toEqual([]);
    await page.close();
  });
});
