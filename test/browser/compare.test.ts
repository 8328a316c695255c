import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Random } from '../../src/compare/step-times/random.js';
import { describeWithBrowser, expectToFit, HOSTILE, openFile, startBrowser } from '../helpers/browser.js';
import { whyslow } from '../helpers/cli.js';

/** A report of eight ranks with a finding and a line of the job, as `diagnose --json` prints it. */
function reportOf(ms: number, seed: number, more: object) {
  const random = new Random(seed);
  const times = Array.from({ length: 60 }, () => ms * Math.exp(0.03 * random.normal()));
  return JSON.stringify({
    schema: 'whyslow/report/1',
    verdict: { bottleneck: 'data' },
    step: { ms, times_ms: [...times, 40 * ms], source: 'events', count: 61 },
    time: { compute: 0.5, idle_data: 0.5 },
    ranks: Array.from({ length: 8 }, (_, rank) => ({ rank, step_ms: rank === 5 ? 1.2 * ms : ms })),
    ...more,
  });
}

describeWithBrowser('the page of a comparison', () => {
  const folder = mkdtempSync(join(tmpdir(), 'whyslow-compare-'));
  const at = (name: string) => join(folder, name);
  let browser: Browser;

  async function write(name: string, ...args: string[]) {
    const { stderr } = await whyslow(['compare', ...args, '--html', at(name)]);
    expect(stderr).toContain(`the page is in ${at(name)}`);
  }

  beforeAll(async () => {
    const speedup = { low: 1.2, likely: 1.4, high: 1.7 };
    const line = { file: 'train.py', line: 7, function: 'main', source: HOSTILE };
    writeFileSync(
      at('before.json'),
      reportOf(100, 1, {
        findings: [{ id: 'slow', rule: 'T4', title: HOSTILE, speedup, saving_ms: 30 }],
        host_lines: [{ ...line, share: 0.5 }],
      }),
    );
    writeFileSync(at('after.json'), reportOf(70, 2, { host_lines: [{ ...line, share: 0.1 }] }));
    const runs = [...Array(5).fill('before.json'), ...Array(4).fill('after.json')].map(at);
    await whyslow(['compare', ...runs, '--history', at('perf.jsonl'), '--accept']);
    [browser] = await Promise.all([
      startBrowser(),
      write('pair.html', at('before.json'), at('after.json')),
      write('history.html', at('after.json'), '--history', at('perf.jsonl')),
    ]);
  });
  afterAll(async () => {
    await browser?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it('shows the answer, its interval, where, the prediction and every rank; asks for nothing', async () => {
    const { page, complaints, requests } = await openFile(browser, at('pair.html'));
    expect(await page.textContent('.label')).toBe('Faster');
    expect(await page.textContent('h1')).toMatch(/^\d\d\.\d% faster, 95% between .*: not noise$/);
    expect(await page.textContent('.interval')).toMatch(/−(?:29|30|31)\.\d% 95% between −/);
    // Two distributions, with a pause of each side left out.
    expect(await page.locator('.bins i').count()).toBe(120);
    expect(await page.textContent('.distributions')).toContain('2 steps longer than');
    expect(await page.locator('#where th', { hasText: 'Input wait' }).count()).toBe(1);
    expect(await page.textContent('.outcomes')).toContain('×1.40 (×1.20 to ×1.70)');
    expect(await page.locator('.scale.measured').count()).toBe(1);
    expect(await page.locator('.rank-strip i').count()).toBe(8);
    expect(await page.locator('#history').count()).toBe(0);
    expect([complaints, requests]).toEqual([[], []]);
    expect(statSync(at('pair.html')).size).toBeLessThan(100_000);
    await page.close();
  });

  it('keeps names from runs as text', async () => {
    const { page } = await openFile(browser, at('pair.html'));
    expect(await page.textContent('.outcomes')).toContain(HOSTILE);
    expect(await page.textContent('#where')).toContain(HOSTILE);
    expect(await page.locator('img').count()).toBe(0);
    expect(await page.evaluate('window.harmed')).toBeUndefined();
    await page.close();
  });

  it('draws the history with its change', async () => {
    const { page, complaints } = await openFile(browser, at('history.html'));
    expect(await page.textContent('#history')).toContain('The step time changed for good at');
    expect(await page.locator('.history circle').count()).toBe(10);
    expect(await page.locator('.history line.change').count()).toBe(1);
    expect(complaints).toEqual([]);
    await page.close();
  });

  it('fits a desk and a phone, in the dark too, and is printed on white with everything open', async () => {
    const { page, complaints } = await openFile(browser, at('pair.html'), { colorScheme: 'dark' });
    await expectToFit(page);
    await page.evaluate('dispatchEvent(new Event("beforeprint"))');
    expect(await page.locator('details:not([open])').count()).toBe(0);
    expect(complaints).toEqual([]);
    await page.close();
  });
});
