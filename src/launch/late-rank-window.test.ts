import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { until } from '../../test/helpers/cli.js';
import { inFolder } from '../../test/helpers/folder.js';
import { watchForLateRanks } from './window-cost.js';

const requests = async (out: string) => {
  const names = (await readdir(join(out, 'control')).catch(() => [])).filter((n) => n.endsWith('.json'));
  return Promise.all(
    names.map(async (name) => JSON.parse(await readFile(join(out, 'control', name), 'utf8')) as object),
  );
};

describe('a trace window for a late rank', () => {
  it('a window is requested once, when the events show a late rank', () =>
    inFolder(async (out) => {
      const answers = [[], [3], [5]];
      let told: readonly number[] = [];
      let looks = 0;
      let isPast = false;
      const watch = watchForLateRanks(
        out,
        async () => answers[looks++]!,
        (ranks) => {
          told = ranks;
        },
        [0, 20, 300],
      );
      // Timers of the same length run in the order they were set.
      setTimeout(() => {
        isPast = true;
      }, 300);
      await until(() => told.length > 0, 'a request');
      // The third look, later than the request, asks nobody.
      await until(() => isPast, 'the time of the third look');
      watch.stop();
      expect(told).toEqual([3]);
      expect(looks).toBe(2);
      expect(await requests(out)).toMatchObject([{ ranks: [3], steps: 6 }]);
    }));

  it('no window is requested on rank 0, which has one, nor after the end, nor when looking fails', () =>
    inFolder(async (out) => {
      const told: unknown[] = [];
      const tell = (ranks: unknown) => told.push(ranks);
      watchForLateRanks(out, async () => [0], tell, [0]);
      watchForLateRanks(out, async () => Promise.reject(new Error('no files')), tell, [0]);
      watchForLateRanks(out, async () => [1], tell, [0]).stop();
      // One that does ask, started last: when it has asked, the others have had their time.
      await inFolder(async (other) => {
        let hasAsked = false;
        watchForLateRanks(
          other,
          async () => [1],
          () => {
            hasAsked = true;
          },
          [0],
        );
        await until(() => hasAsked, 'the request of a late rank');
      });
      expect([told, await requests(out)]).toEqual([[], []]);
    }));
});
