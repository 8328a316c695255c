import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { until } from '../../test/helpers/cli.js';
import { inFolder } from '../../test/helpers/folder.js';
import { watchForLateRanks } from './late-rank-window.js';

const requests = async (out: string) => {
  const names = (await readdir(join(out, 'control')).catch(() => [])).filter((n) => n.endsWith('.json'));
  return Promise.all(
    names.map(async (name) => JSON.parse(await readFile(join(out, 'control', name), 'utf8')) as object),
  );
};

describe('a window on a late rank', () => {
  it('is asked for once, when the events show one', () =>
    inFolder(async (out) => {
      const answers = [[], [3], [5]];
      let told: readonly number[] = [];
      let looks = 0;
      const watch = watchForLateRanks(
        out,
        async () => answers[looks++]!,
        (ranks) => {
          told = ranks;
        },
        [0, 20, 40],
      );
      await until(() => told.length > 0, 'a request');
      await new Promise((resolve) => setTimeout(resolve, 60));
      watch.stop();
      expect(told).toEqual([3]);
      expect(await requests(out)).toMatchObject([{ ranks: [3], steps: 6 }]);
    }));

  it('is not asked for on rank 0, which has one, nor after the end, nor where looking fails', () =>
    inFolder(async (out) => {
      const told: unknown[] = [];
      const tell = (ranks: unknown) => told.push(ranks);
      watchForLateRanks(out, async () => [0], tell, [0]);
      watchForLateRanks(out, async () => Promise.reject(new Error('no files')), tell, [0]);
      watchForLateRanks(out, async () => [1], tell, [0]).stop();
      await new Promise((resolve) => setTimeout(resolve, 40));
      expect([told, await requests(out)]).toEqual([[], []]);
    }));
});
