/** First paint and frames per second of the timeline over a trace of ten million events. See bench/README.md. */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chromium, type Page } from 'playwright-core';
import { largeTrace } from './lib/large-trace.js';
import { argument, machineLine, median } from './lib/side-by-side.js';

/** 85,000 events are 23 MB of JSON. */
const MB = argument('mb', 2720);
const SOURCE = 'zoo/fixtures/adam_forloop/rank0.json.gz';
const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';
const FIRST_PAINTS = 3;

/** Keys that are held, for three seconds each. */
const MOVES: readonly (readonly [name: string, keys: readonly string[]])[] = [
  ['zoom out', ['s']],
  ['pan, hundreds of steps in view', ['d']],
  ['zoom in', ['w']],
  ['pan, kernels in view', ['d', 'a']],
];

/** Runs in the page: when each frame of three seconds began, and how long its drawing took. */
const RECORD_FRAMES = `new Promise((resolve) => {
  const stamps = [];
  window.drawn = [];
  const next = (now) => {
    stamps.push(now);
    if (now - stamps[0] < 3000) plainFrame(next);
    else resolve({ stamps, drawn: window.drawn });
  };
  plainFrame(next);
})`;

/** Measures what the page does in its frames. */
const MEASURE_FRAMES = `
  window.plainFrame = window.requestAnimationFrame.bind(window);
  window.drawn = [];
  window.requestAnimationFrame = (draw) => plainFrame((now) => {
    const began = performance.now();
    draw(now);
    window.drawn.push(performance.now() - began);
  });`;

if (!existsSync(CHROMIUM)) throw new Error(`no browser at ${CHROMIUM}: set CHROMIUM`);
const file = await largeTrace(SOURCE, `.bench/page-${MB}.json.gz`, MB);
const server = await openTrace(file);
const browser = await chromium.launch({
  executablePath: CHROMIUM,
  args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking'],
});
try {
  console.log(`${machineLine()}\nheadless Chromium, drawn without a graphics card, 1440 × 900\n`);
  console.log(`${file}: read and ready in ${server.seconds.toFixed(1)} s`);
  const paints: number[] = [];
  for (let i = 0; i < FIRST_PAINTS; i++) paints.push(await firstPaint());
  console.log(
    `first paint of the whole view: ${median(paints).toFixed(0)} ms (${paints.map((p) => p.toFixed(0)).join(', ')})`,
  );
  const page = await newPage();
  console.log('| | frames/s | 95% of frames within, ms | 95% drawn in, ms |\n|---|---|---|---|');
  for (const [name, keys] of MOVES) console.log(`| ${name} | ${await framesPerSecond(page, keys)} |`);
} finally {
  await browser.close();
  server.stop();
}

interface Served {
  readonly url: string;
  readonly seconds: number;
  stop(): void;
}

async function openTrace(path: string): Promise<Served> {
  const started = performance.now();
  const child = spawn(process.execPath, ['bin/whyslow.js', 'open', '--no-open', path]);
  let said = '';
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout.on('data', (text: Buffer) => {
      said += text.toString();
      const found = /http:\S+\n/.exec(said);
      if (found) resolve(found[0].trim());
    });
    child.once('exit', (code) => reject(new Error(`whyslow open ended with ${code}`)));
  });
  return { url, seconds: (performance.now() - started) / 1000, stop: () => child.kill('SIGINT') };
}

async function newPage(): Promise<Page> {
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  await page.addInitScript(MEASURE_FRAMES);
  await page.goto(server.url);
  await page.waitForSelector('.tl-canvas[data-drawn=true]', { timeout: 60_000 });
  return page;
}

/** From the start of loading to a timeline that shows all it has to. */
async function firstPaint(): Promise<number> {
  const page = await newPage();
  const took = await page.evaluate<number>('performance.now()');
  await page.close();
  return took;
}

interface Frames {
  readonly stamps: readonly number[];
  readonly drawn: readonly number[];
}

async function framesPerSecond(page: Page, keys: readonly string[]): Promise<string> {
  await page.locator('.tl-canvas').focus();
  const times: number[] = [];
  const work: number[] = [];
  for (const key of keys) {
    await page.keyboard.down(key);
    const recorded = await page.evaluate<Frames>(RECORD_FRAMES);
    await page.keyboard.up(key);
    const { stamps, drawn } = recorded;
    for (let i = 1; i < stamps.length; i++) times.push(stamps[i]! - stamps[i - 1]!);
    for (const ms of drawn) work.push(ms);
  }
  times.sort((a, b) => a - b);
  work.sort((a, b) => a - b);
  const mean = times.reduce((sum, t) => sum + t, 0) / times.length;
  const p95 = times[Math.floor(times.length * 0.95)]!;
  return `${(1000 / mean).toFixed(1)} | ${p95.toFixed(1)} | ${work[Math.floor(work.length * 0.95)]!.toFixed(1)}`;
}
