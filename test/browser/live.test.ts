import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { describeWithBrowser, openAddress, startBrowser } from '../helpers/browser.js';
import { inFolder, root, type Started, start, startOnTerminal, until, whyslow } from '../helpers/cli.js';

const JOB = [process.execPath, `${root}test/browser/jobs/logging-job.mjs`];
/** Keep the settings of the person who runs the tests out. */
const env = { WHYSLOW_OUT: '', WHYSLOW_RUN: '' };

describeWithBrowser('whyslow run --open', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await startBrowser();
  });
  afterAll(() => browser?.close());
  /** A test that fails must not leave a job that waits. */
  const started: Started[] = [];
  afterEach(() => started.splice(0).forEach(({ child }) => void child.kill('SIGKILL')));

  const addressIn = async (text: () => string) => {
    await until(() => /http:\S+/.test(text()), 'the page has an address');
    return /http:\S+/.exec(text())![0];
  };

  it('shows the job while it runs, without a jump, and ends with it where there is no terminal', () =>
    inFolder(async (out) => {
      const words = ['run', '--open', '--no-telemetry', '--out', out, '--', ...JOB];
      const job = start(process.execPath, [`${root}bin/whyslow.js`, ...words], { env });
      started.push(job);
      const url = await addressIn(() => job.said.stderr);
      const { page, complaints } = await openAddress(browser, url, { hash: '#tab=steps' });
      expect(await page.textContent('h1')).toBe('Waiting for the first steps');
      expect(await page.textContent('.live')).toBe('Running no step recorded yet');
      job.child.stdin.write('5\n');
      await page.waitForSelector('.verdict h1');
      expect(await page.textContent('.live')).toMatch(/^Running measured up to step 3, updated \d+ s ago$/);
      await page.evaluate('document.querySelector("#ranks").scrollIntoView()');
      const place = () => page.evaluate('document.querySelector("#ranks").getBoundingClientRect().top');
      const before = await place();
      await page.evaluate('document.querySelector("#ranks").marked = true');
      job.child.stdin.write('60\n');
      await page.waitForSelector('.live:has-text("step 63")');
      // The same elements with new figures, where they were, although the sections above have grown.
      expect(await page.evaluate('document.querySelector("#ranks").marked')).toBe(true);
      expect(Math.abs(Number(await place()) - Number(before))).toBeLessThan(40);
      expect(page.url()).toContain('#tab=steps');
      expect(await page.textContent('.label')).toBe('Data-bound');
      expect(await page.textContent('.verdict')).toContain('Rank 1 is late');
      expect(complaints).toEqual([]);
      job.child.stdin.end();
      const { code, stdout, stderr } = await job.ended;
      expect([code, stdout]).toEqual([0, 'wrote 5 steps\nwrote 65 steps\n']);
      expect(stderr).toContain('the page ends with the job; to see it again: whyslow open');
      // Lost, unless the page asked once more after the job and before the server ended.
      await page.waitForSelector('.live.lost, .live.ended');
      expect(await page.textContent('.verdict')).toContain('Rank 1 is late');
      await page.close();
    }));

  it('keeps the page after the job on a terminal, until Ctrl-C', () =>
    inFolder(async (out) => {
      const count = ['sh', '-c', `echo 40 | "${JOB.join('" "')}"; exit 3`];
      const job = startOnTerminal(['run', '--open', '--no-telemetry', '--out', out, '--', ...count], { env });
      started.push(job);
      const url = await addressIn(() => job.said.stdout);
      const { page, complaints } = await openAddress(browser, url);
      await page.waitForSelector('.live.ended');
      expect(await page.textContent('.live')).toBe('Ended measured up to step 38');
      expect(await page.textContent('.verdict')).toContain('Rank 1 is late');
      await until(() => job.said.stdout.includes('until Ctrl-C'), 'it says how to end it');
      job.child.stdin.write('\x03');
      expect((await job.ended).code).toBe(3);
      await expect(fetch(url)).rejects.toThrow();
      expect(complaints).toEqual([]);
      await page.close();
    }));

  it('runs the job without the page if there can be none', () =>
    inFolder(async (out) => {
      const taken = createServer().listen(0, '127.0.0.1');
      await once(taken, 'listening');
      const { port } = taken.address() as AddressInfo;
      const words = [
        'run',
        '--open',
        '--port',
        `${port}`,
        '--out',
        out,
        '--',
        'sh',
        '-c',
        'echo ran; exit 4',
      ];
      const ran = await whyslow(words, { env });
      taken.close();
      expect([ran.code, ran.stdout]).toEqual([4, 'ran\n']);
      expect(ran.stderr).toContain(`no page: cannot listen on port ${port}`);
    }));
});
