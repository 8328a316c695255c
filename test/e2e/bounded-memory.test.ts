import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { largeTrace } from '../../bench/lib/large-trace.js';
import { SOAK } from '../helpers/cases.js';
import { inFolder } from '../helpers/cli.js';
import { costOf } from '../helpers/cost.js';

/** Quickly: it is only what they expand to that matters. */
const gzip = (data: string) => gzipSync(data, { level: 1 });
const many = (n: number, one: (i: number) => string) => Array.from({ length: n }, (_, i) => one(i)).join(',');
/** Small hostile files: what they claim, or expand to, is far larger than they are. */
const NASTY: readonly (readonly [string, () => string | Uint8Array])[] = [
  ['zeros that expand a thousandfold', () => gzipSync(Buffer.alloc(200 << 20))],
  ['spaces before the events', () => gzip(`{"traceEvents": [${' '.repeat(100 << 20)}]}`)],
  ['spaces after a key', () => gzip(`{"schemaVersion": ${' '.repeat(100 << 20)}1, "traceEvents": []}`)],
  ['one endless name', () => gzip(`[{"ph":"X","ts":1,"dur":1,"name":"${'x'.repeat(100 << 20)}"}]`)],
  [
    'one endless event',
    () => gzip(`[{"ph":"X","ts":1,"dur":1,"args":{${many(2_000_000, (i) => `"k${i}":${i}`)}}}]`),
  ],
  ['nesting without end', () => `[{"ph":"X","args":${'['.repeat(10_000)}`],
  ['a header without end', () => gzip(`{"traceEvents_": "${'y'.repeat(100 << 20)}`)],
  [
    'a track for every event',
    () =>
      `[${many(60_000, (i) => `{"ph":"X","cat":"c${i % 300}","pid":${i},"tid":${i},"ts":${i},"dur":1}`)}]`,
  ],
  [
    'a quote that opens and never closes',
    () => gzip(`[${many(300_000, () => '{"ph":"X","ts":1,"dur":1,"args":{"a":["b"c"]}}')}]`),
  ],
  [
    'correlation ids far apart',
    () =>
      `[${many(50, (i) => `{"ph":"X","cat":"cuda_runtime","ts":${i},"dur":1,"args":{"correlation":${i * 85_000_000}}}`)}]`,
  ],
];
/** A bare Node takes about 50 MB; the queue of inflated chunks and the scanner another 60. */
const LIMIT_MB = 300;

describe('memory stays bounded', () => {
  it.each(NASTY)('memory stays bounded for %s', async (_, make) => {
    await inFolder(async (folder) => {
      const file = join(folder, 'nasty.json');
      await writeFile(file, make());
      const { code, stderr, peakMb } = await costOf(['inspect', file]);
      expect([0, 2]).toContain(code);
      expect(stderr).not.toMatch(/internal error|\n\s+at /);
      expect(peakMb).toBeLessThan(LIMIT_MB);
    });
  });

  it('memory stays bounded for an export, which writes its tables group by group', () =>
    inFolder(async (folder) => {
      const megabytes = SOAK ? 60 : 30;
      const trace = join(folder, 'long.json.gz');
      await largeTrace('zoo/fixtures/adam_forloop/rank0.json.gz', trace, megabytes);
      const { code, peakMb } = await costOf(['export', trace, '-o', join(folder, 'tables')]);
      expect(code).toBe(0);
      // Node 26 takes up to 25 MB more than Node 20.
      expect(peakMb).toBeLessThan(0.15 * megabytes + 180);
    }));
});
