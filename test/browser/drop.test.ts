import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Report } from '../../src/report/report.js';
import { describeWithBrowser, openAddress, startBrowser } from '../helpers/browser.js';
import { whyslow } from '../helpers/cli.js';
import { type OpenServer, openServer } from '../helpers/open.js';

const TRACE = 'zoo/fixtures/data_io_w0/rank0.json.gz';

describeWithBrowser('a trace dropped onto the page', () => {
  const folder = mkdtempSync(join(tmpdir(), 'whyslow-drop-'));
  const write = (name: string, bytes: string | Uint8Array) => {
    writeFileSync(join(folder, name), bytes);
    return join(folder, name);
  };
  let browser: Browser;
  let empty: OpenServer;
  let opened: OpenServer;
  beforeAll(async () => {
    [browser, empty, opened] = await Promise.all([startBrowser(), openServer(), openServer(TRACE)]);
  });
  afterAll(async () => {
    await browser?.close();
    empty?.child.kill('SIGKILL');
    opened?.child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });

  const choose = (page: Page, file: string) => page.setInputFiles('.choose input', file);
  const dropped = (page: Page, ...files: string[]) => {
    const named = files.map((f) => [basename(f), readFileSync(f).toString('base64')]);
    return page.evaluate(`{
      const dataTransfer = new DataTransfer();
      for (const [name, text] of ${JSON.stringify(named)})
        dataTransfer.items.add(new File([Uint8Array.from(atob(text), (c) => c.charCodeAt(0))], name));
      dispatchEvent(new DragEvent('drop', { dataTransfer, cancelable: true }));
    }`);
  };
  const drawn = (page: Page) => page.waitForSelector('.tl-canvas[data-drawn=true]');
  /** What the page says, without the folder of the file. */
  const textOf = async (page: Page) => {
    await page.locator('.tl').scrollIntoViewIfNeeded();
    await drawn(page);
    return (await page.textContent('main'))!.replaceAll(TRACE, 'rank0.json.gz');
  };

  it('a trace dropped onto the page is read here, gives the verdict of diagnose and the page of whyslow open, and is sent nowhere', async () => {
    const { page, complaints, requests } = await openAddress(browser, empty.url);
    expect(await page.textContent('h1')).toContain('Drop a trace here');
    const sent: string[] = [];
    page.on('request', (r) => sent.push(r.url()));
    await dropped(page, TRACE);
    await page.waitForSelector('.verdict h1');
    const report = JSON.parse((await whyslow(['diagnose', TRACE, '--json'])).stdout) as Report;
    const shown = `${await page.textContent('.label')}: ${await page.textContent('h1')}`;
    expect(report.verdict.sentence.toLowerCase()).toContain(shown.toLowerCase());
    const served = await openAddress(browser, opened.url);
    expect(await textOf(page)).toBe(await textOf(served.page));
    expect(sent).toEqual([`${empty.url}reader.js`]);
    expect(requests.every((r) => r.startsWith(empty.url))).toBe(true);
    expect([...complaints, ...served.complaints]).toEqual([]);
    await page.close();
    await served.page.close();
  });

  it('takes the place of another run, and of one dropped before', async () => {
    const { page, complaints } = await openAddress(browser, opened.url, { hash: '#rank=0&step=4' });
    const plain = write('plain.json', gunzipSync(readFileSync(TRACE)));
    for (const [file, name] of [
      [write('adam.json.gz', readFileSync('zoo/fixtures/adam_forloop/rank0.json.gz')), 'adam.json.gz'],
      [plain, 'plain.json'],
    ] as const) {
      await choose(page, file);
      await page.waitForSelector(`.brand:has-text("${name}")`);
      expect(await page.textContent('footer')).toContain('nothing was uploaded');
      await page.locator('.tl').scrollIntoViewIfNeeded();
      await drawn(page);
    }
    expect(await page.textContent('.label')).toBe('Data-bound');
    expect(complaints).toEqual([]);
    await page.close();
  });

  it('a trace dropped onto the page that cannot be read is refused with a sentence, and with what to run', async () => {
    const { page, complaints } = await openAddress(browser, empty.url);
    const gz = readFileSync(TRACE);
    const refused = async (...files: string[]) => {
      await dropped(page, ...files);
      const text = (await page.textContent('.refused'))!;
      await page.getByRole('button', { name: 'Close' }).click();
      return text;
    };
    const cases: [string, string][] = [
      [write('notes.txt', 'lr 0.1 is too high\n'), 'notes.txt is no trace: it begins with "lr 0.1'],
      [write('empty.json', ''), 'empty.json is no trace: it is empty'],
      [write('cut.json.gz', gz.subarray(0, gz.length / 2)), 'cut.json.gz is cut off or damaged'],
      [write('t.json.zst', Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd, 0)), 't.json.zst is compressed with zstd'],
      [
        write('log.jsonl.gz', gzipSync('{"name":"forward","step":1,"rank":0,"duration_ms":5}\n')),
        'log.jsonl.gz is no trace but an event log',
      ],
    ];
    for (const [file, why] of cases) {
      const text = await refused(file);
      expect(text).toContain(why);
      expect(text).toContain(`Run instead: whyslow open ${basename(file)}`);
    }
    expect(await refused(TRACE, TRACE)).toContain('one trace at a time');
    expect(await page.textContent('h1')).toContain('Drop a trace here');
    // What is left of a trace that was cut off is shown, and the page says so.
    const text = gunzipSync(gz);
    await choose(page, write('half.json', text.subarray(0, text.length / 2)));
    await page.waitForSelector('.verdict h1');
    expect(await page.textContent('main')).toContain('the file ends inside an event');
    expect(complaints).toEqual([]);
    await page.close();
  });
});
