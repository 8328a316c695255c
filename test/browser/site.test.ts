import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeWithBrowser, openFile, startBrowser } from '../helpers/browser.js';

describeWithBrowser('the site of the documentation', () => {
  const folder = mkdtempSync(join(tmpdir(), 'whyslow-site-'));
  let browser: Browser;
  let built: { pages: number; broken: readonly string[] };

  beforeAll(async () => {
    // @ts-expect-error: a script without types.
    const { buildSite } = await import('../../site/build.mjs');
    [browser, built] = await Promise.all([startBrowser(), buildSite(folder)]);
  });
  afterAll(async () => {
    await browser?.close();
    rmSync(folder, { recursive: true });
  });

  it('has a page for each rule, and no link of the site leads nowhere', () => {
    expect(built.pages).toBeGreaterThan(100);
    expect(built.broken).toEqual([]);
  });

  it.each([1280, 390])('pages fit into %i pixels and load nothing from elsewhere', async (width) => {
    for (const name of ['index', 'tutorials/first-diagnosis', 'rules/index', 'problems', 'usage']) {
      const opened = await openFile(browser, join(folder, `${name}.html`), {
        viewport: { width, height: 800 },
      });
      expect(opened.complaints).toEqual([]);
      expect(opened.requests.filter((address) => !address.startsWith('file:'))).toEqual([]);
      const overflow = await opened.page.evaluate<number>(
        'document.documentElement.scrollWidth - innerWidth',
      );
      expect(overflow, name).toBeLessThanOrEqual(0);
      await opened.page.close();
    }
  });

  it('search finds a problem code, and Enter opens it', async () => {
    const { page } = await openFile(browser, join(folder, 'rules/num-workers-zero.html'));
    expect(await page.textContent('main')).toContain('DataLoader.__next__ of a _SingleProcess');
    await page.fill('#search', 'short-window');
    await page.press('#search', 'Enter');
    await page.waitForURL(/problems\.html#short-window$/);
    expect(await page.textContent(':target')).toBe('short-window');
  });
});
