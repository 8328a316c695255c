import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { formatTime, toMs } from '../../src/base/units.js';
import { diagnoseForPage } from '../../src/library/page.js';
import { AS_IT_IS, replayedStep, type WhatIfPlan } from '../../src/page/what-if.js';
import { describeWithBrowser, expectToFit, HOSTILE, openFile, startBrowser } from '../helpers/browser.js';
import { whyslow } from '../helpers/cli.js';
import { simulateRun, writeRun } from '../helpers/simulate/simulate.js';

const DATA_BOUND = 'zoo/fixtures/data_io_w0';

describeWithBrowser('the page in a browser', () => {
  const folder = mkdtempSync(join(tmpdir(), 'whyslow-page-'));
  const fileOf = (name: string) => join(folder, `${name}.html`);
  let browser: Browser;

  async function write(name: string, path: string, ...more: string[]) {
    const ran = await whyslow(['diagnose', path, '--html', fileOf(name), ...more]);
    expect(ran.stderr).toContain(`the page is in ${fileOf(name)}`);
    return ran;
  }

  beforeAll(async () => {
    const run = join(folder, 'run');
    const fault = { kind: 'data', ranks: [5], size: 0.4 } as const;
    writeRun(
      simulateRun({ seed: 3, ranks: 8, steps: 12, parallelism: 'mesh2d', eventsPerStep: 60, fault }),
      run,
    );
    const trace = join(folder, 'hostile-rank-0.json.gz');
    const text = gunzipSync(readFileSync(join(DATA_BOUND, 'rank0.json.gz'))).toString();
    const named = JSON.stringify(HOSTILE).slice(1, -1);
    writeFileSync(trace, gzipSync(text.replaceAll('Memcpy HtoD', `Memcpy HtoD \\u202e${named}`)));
    const log = join(folder, 'cuda_events_rank_0.jsonl');
    writeFileSync(log, '{"name":"forward","step":1,"rank":0,"duration_ms":5}\n');
    [browser] = await Promise.all([
      startBrowser(),
      write('data', DATA_BOUND),
      write('ranks', run),
      write('hostile', trace, '--title', HOSTILE),
      write('unknown', log),
    ]);
  });
  afterAll(async () => {
    await browser?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it('shows the verdict and the first fix, asks for nothing and complains about nothing', async () => {
    const { page, complaints, requests } = await openFile(browser, fileOf('data'));
    expect(await page.textContent('h1')).toBe(
      'The GPU spends 95% of every step waiting for DataLoader.__next__',
    );
    expect(await page.textContent('.label')).toBe('Data-bound');
    expect(await page.textContent('.first-fix')).toContain('num_workers=0');
    expect(await page.locator('.pill').allTextContents()).toContain('Confidence: high');
    expect(complaints).toEqual([]);
    expect(requests).toEqual([]);
    await page.close();
  });

  it('says what it does not know', async () => {
    const { page, complaints } = await openFile(browser, fileOf('unknown'));
    expect(await page.textContent('.label')).toBe('Unknown');
    expect(await page.textContent('.next')).toContain('To get an answer');
    expect(await page.textContent('#timeline')).toContain('There is no trace');
    expect(await page.textContent('#what-if')).toContain('This needs a trace');
    expect(complaints).toEqual([]);
    await page.close();
  });

  it('gives the same step as the engine when a slider moves', async () => {
    const { page } = await openFile(browser, fileOf('data'));
    const { page: data } = await diagnoseForPage(DATA_BOUND, null);
    const plan = data.whatIf as WhatIfPlan;
    const shown = () => page.getAttribute('.outcome .big', 'data-ms').then(Number);
    expect(await shown()).toBeCloseTo(data.report.step.ms!, 3);
    for (const factor of [0.2, 0]) {
      await page.locator('input[name=data]').fill(String(factor));
      const engine = toMs(replayedStep(plan, { ...AS_IT_IS, data: factor }));
      expect(engine).toBeLessThan(0.5 * data.report.step.ms!);
      expect(await shown()).toBe(engine);
      expect(await page.textContent('.outcome .big')).toBe(formatTime(engine));
    }
    await page.close();
  });

  it('marks the late rank in the heat map, which follows the mouse, the keys and the address', async () => {
    const { page, complaints } = await openFile(browser, fileOf('ranks'), { hash: '#rank=5&step=4' });
    expect(await page.textContent('.rows .late')).toContain('rank 5');
    expect(await page.textContent('.readout')).toMatch(/^Rank 5 on .*, step 4: own time/);
    const { width, height } = (await page.locator('.cells canvas').boundingBox())!;
    const { metrics, steps } = (await diagnoseForPage(join(folder, 'run'), null)).page.rankSteps!;
    expect(metrics.map((m) => m.name)).toContain('idle_data');
    await page.locator('.cells canvas').click({
      position: { x: (width * 2.5) / steps.length, y: (height * 6.5) / 8 },
    });
    expect(await page.textContent('.readout')).toContain(`Rank 6 on node-0, step ${steps[2]}`);
    expect(page.url()).toContain(`rank=6&step=${steps[2]}`);
    await page.mouse.move(0, 0);
    await page.focus('.cells');
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('ArrowRight');
    expect(page.url()).toContain(`rank=5&step=${steps[3]}`);
    await page.locator('.heat select').first().selectOption('idle_data');
    expect(await page.textContent('.readout')).toContain(': input wait');
    const axes = await page.locator('.heat select').nth(1).locator('option').allTextContents();
    expect(axes.length).toBeGreaterThan(1);
    await page.locator('.heat select').nth(1).selectOption({ index: 1 });
    expect(await page.locator('.rows .group').count()).toBeGreaterThan(1);
    expect(complaints).toEqual([]);
    await page.close();
  });

  it('leads from evidence and from the heat map to the place in the timeline', async () => {
    const { page, complaints } = await openFile(browser, fileOf('data'));
    await page.waitForSelector('.tl-canvas');
    const { page: data } = await diagnoseForPage(DATA_BOUND, null);
    const { ts_ns: ts, dur_ns: dur } = data.report.findings[0]!.evidence[0]!;
    await page.getByRole('button', { name: 'Show it' }).click();
    await page.waitForURL(/t=/);
    const shown = async () => {
      await page.waitForTimeout(600);
      const [, from, to] = /t=(\d+)-(\d+)/.exec(page.url())!;
      return [Number(from), Number(to)] as const;
    };
    const [from, to] = await shown();
    // The evidence fills most of the view.
    expect(from).toBeLessThanOrEqual(ts!);
    expect(to).toBeGreaterThanOrEqual(ts! + dur!);
    expect(to - from).toBeLessThan(1.5 * dur!);
    expect(complaints).toEqual([]);
    await page.close();
    const ranks = await openFile(browser, fileOf('ranks'));
    await ranks.page.waitForSelector('.tl-canvas');
    await ranks.page.locator('.cells canvas').click({ position: { x: 5, y: 5 } });
    await ranks.page.waitForURL(/t=/);
    expect(ranks.page.url()).toContain('rank=0&step=');
    expect(ranks.complaints).toEqual([]);
    await ranks.page.close();
  });

  it('keeps names from traces as text', async () => {
    const { page, complaints } = await openFile(browser, fileOf('hostile'), { hash: '#tab=kernels' });
    expect(await page.locator('td code', { hasText: '<img src=x' }).count()).toBeGreaterThan(0);
    expect(await page.locator('img').count()).toBe(0);
    // A mark of direction would turn around what follows it.
    expect(await page.locator('td code', { hasText: '\\u202e' }).count()).toBeGreaterThan(0);
    expect(await page.innerText('body')).not.toMatch(/[\u202a-\u202e\u2066-\u2069]/);
    expect(await page.evaluate('window.harmed')).toBeUndefined();
    expect(await page.title()).toBe(HOSTILE);
    expect(complaints).toEqual([]);
    await page.close();
  });

  it('sorts and filters tables, and keeps the table in the address', async () => {
    const { page } = await openFile(browser, fileOf('data'));
    await page.getByRole('tab', { name: /Operators/ }).click();
    expect(page.url()).toContain('tab=operators');
    const rows = page.locator('#tab-body tbody tr');
    const before = await rows.count();
    await page.locator('#tab-body input[type=search]').fill('convolution');
    expect(await rows.count()).toBeLessThan(before);
    await page.getByRole('button', { name: 'Calls per step' }).click();
    const counts = (await rows.locator('td:nth-child(4)').allTextContents()).map(Number);
    expect(counts).toEqual(counts.toSorted((a, b) => b - a));
    await page.close();
  });

  it('tabs answer arrow keys, and only the open one is in the tab order', async () => {
    const { page } = await openFile(browser, fileOf('data'));
    const tabs = page.getByRole('tab');
    await tabs.first().focus();
    await page.keyboard.press('ArrowRight');
    expect(await tabs.nth(1).getAttribute('aria-selected')).toBe('true');
    expect(await page.evaluate('document.activeElement.id')).toBe(await tabs.nth(1).getAttribute('id'));
    await page.keyboard.press('ArrowLeft');
    await page.keyboard.press('ArrowLeft');
    expect(await tabs.last().getAttribute('aria-selected')).toBe('true');
    expect(await page.locator('[role=tab][tabindex="0"]').count()).toBe(1);
    await page.close();
  });

  it('the kernel table shows names and times on a phone without scrolling', async () => {
    const { page } = await openFile(browser, fileOf('data'));
    await page.setViewportSize({ width: 390, height: 844 });
    await page.getByRole('tab', { name: /Kernels/ }).click();
    const time = page.locator('table:has(caption:text-is("Kernels")) tbody tr').first().locator('td').nth(1);
    expect(await time.textContent()).toMatch(/[mµ]s$/);
    const box = (await time.boundingBox())!;
    expect(box.x + box.width).toBeLessThan(390);
    await page.close();
  });

  it.each(['data', 'ranks', 'unknown'])('fits a desk and a phone, in the dark too: %s', async (name) => {
    const { page, complaints } = await openFile(browser, fileOf(name), { colorScheme: 'dark' });
    await expectToFit(page);
    expect(complaints).toEqual([]);
    await page.close();
  });

  it('the page of a recording of the zoo has at most 2 MB', async () => {
    const name = 'adam_forloop';
    await write('largest', join('zoo/fixtures', name));
    for (const file of readdirSync(folder).filter((f) => f.endsWith('.html')))
      expect(statSync(join(folder, file)).size, file).toBeLessThan(2e6);
  });
});
