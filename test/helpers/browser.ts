import { existsSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { describe, expect } from 'vitest';

const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium';

export const hasBrowser = existsSync(executablePath);

/** A suite that needs Chromium. Without it, it is skipped, which fails CI. */
export const describeWithBrowser = describe.skipIf(!hasBrowser);
if (!hasBrowser)
  console.log(`skipped without ${executablePath} (CHROMIUM names another): tests of the page in a browser`);

export const startBrowser = (): Promise<Browser> =>
  chromium.launch({
    executablePath,
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-dev-shm-usage'],
  });

export interface Opened {
  readonly page: Page;
  /** Errors and warnings of the console, and what was thrown. */
  readonly complaints: readonly string[];
  /** Addresses that were asked for, other than the file itself. */
  readonly requests: readonly string[];
}

/** Opens a file of whyslow diagnose --html and waits until it is drawn. */
export const openFile = (browser: Browser, file: string, options: OpenOptions = {}): Promise<Opened> =>
  openAddress(browser, pathToFileURL(file).href, options);

type OpenOptions = BrowserContextOptions & { readonly hash?: string };

/** The same for any address of the page. */
export async function openAddress(
  browser: Browser,
  address: string,
  options: OpenOptions = {},
): Promise<Opened> {
  const { hash = '', ...context } = options;
  const page = await browser.newPage(context);
  const complaints: string[] = [];
  const requests: string[] = [];
  page.on('console', (m) => {
    if (m.type() === 'error' || m.type() === 'warning') complaints.push(m.text());
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('request', (r) => {
    if (r.url().split('#')[0] !== address) requests.push(r.url());
  });
  await page.goto(`${address}${hash}`);
  await page.waitForSelector('main h1');
  return { page, complaints, requests };
}

/** A name from a trace that would run code if it were not kept as text. */
export const HOSTILE = '<img src=x onerror="window.harmed=1"></script><script>window.harmed=2</script>';

/** Checks a dark page: no wider than a desk and a phone, and printed on white. It is left as it is printed. */
export async function expectToFit(page: Page): Promise<void> {
  for (const width of [1280, 390]) {
    await page.setViewportSize({ width, height: 800 });
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
  }
  const background = () => page.evaluate('getComputedStyle(document.body).backgroundColor');
  expect(await background()).toBe('rgb(20, 22, 26)');
  await page.emulateMedia({ media: 'print' });
  expect(await background()).toBe('rgb(255, 255, 255)');
}
