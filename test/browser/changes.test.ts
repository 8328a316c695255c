import { join } from 'node:path';
import { expect, it } from 'vitest';
import { describeWithBrowser, openFile, startBrowser } from '../helpers/browser.js';
import { inFolder, whyslow } from '../helpers/cli.js';
import { slowInput } from '../helpers/slow-input.js';

describeWithBrowser('the page of a run that was watched', () => {
  it('shows the whole run as a line per rank, with the incident marked, and what it costs', () =>
    inFolder(async (out) => {
      await slowInput(out);
      await whyslow(['watch', out, '--once']);
      const file = join(out, 'page.html');
      await whyslow(['diagnose', out, '--html', file, '--price', '2.50']);
      const browser = await startBrowser();
      try {
        const { page, complaints } = await openFile(browser, file);
        expect(await page.textContent('.incidents .alarm.open b')).toMatch(
          /^Since step 2,0\d\d .*waiting for input/,
        );
        expect(await page.textContent('.incidents')).toMatch(
          /costs 0\.\d+ rank-hours per hour, 1\d\.\d\d per day/,
        );
        expect(await page.locator('.run-lines svg').count()).toBe(1);
        // From the middle of the run to its end.
        const [x, width] = await Promise.all(
          ['x', 'width'].map(async (name) => Number(await page.getAttribute('.run-lines rect', name))),
        );
        expect(x! + width!).toBeCloseTo(1000, 0);
        expect(Math.abs(x! - 500)).toBeLessThan(30);
        expect(complaints).toEqual([]);
      } finally {
        await browser.close();
      }
    }));
});
