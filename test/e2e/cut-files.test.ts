import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { diagnose } from '../../src/library/diagnose.js';
import { inFolder, root } from '../helpers/cli.js';

const traceOf = (name: string) => join(root, 'zoo/fixtures', name, 'rank0.json.gz');

/** What a job leaves that is killed while it writes its trace, or that has no room on the disk. */
describe.each(['cnn_nchw', 'h2d_pageable', 'launch_compiled', 'data_io_w0'])('%s, cut', (name) => {
  const whole = gunzipSync(readFileSync(traceOf(name)));

  it.each([0.95, 0.8, 0.6, 0.3])('a trace cut to %d of its bytes has the same verdict, or none', (part) =>
    inFolder(async (folder) => {
      const path = join(folder, 'rank0.json');
      writeFileSync(path, whole.subarray(0, whole.length * part));
      const [cut, all] = [await diagnose(path), await diagnose(traceOf(name))];
      expect(cut.health.problems.map((p) => p.code)).toContain('truncated-json');
      if (cut.verdict.bottleneck === 'unknown')
        return expect(cut.verdict.next).toEqual([expect.stringContaining('finish writing the trace')]);
      expect(cut.verdict.bottleneck).toBe(all.verdict.bottleneck);
      expect(Math.abs(cut.step.ms! / all.step.ms! - 1)).toBeLessThan(0.2);
    }),
  );
});

describe('one of four ranks, cut', () => {
  const RANKS = join(root, 'test/fixtures/zoo-ranks/straggler_host');
  const withCut = (rank: number) =>
    inFolder(async (folder) => {
      cpSync(RANKS, folder, { recursive: true });
      const whole = gunzipSync(readFileSync(join(RANKS, `rank${rank}.json.gz`)));
      rmSync(join(folder, `rank${rank}.json.gz`));
      writeFileSync(join(folder, `rank${rank}.json`), whole.subarray(0, whole.length * 0.6));
      return diagnose(folder);
    });

  it('a truncated rank does not keep the others from naming the late one', async () => {
    const { verdict, stragglers } = await withCut(0);
    expect(stragglers).toMatchObject([{ ranks: [2] }]);
    expect(verdict.bottleneck).toBe('host');
  });

  it('a cut rank is reported if it may be the late one', async () => {
    const { verdict } = await withCut(2);
    expect(verdict.sentence).toContain('Rank 2 was not recorded');
    expect(verdict.confidence).toBeLessThanOrEqual(0.75);
  });
});
