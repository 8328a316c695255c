import { expect, it } from 'vitest';
import { cpuTime } from '../../test/helpers/cpu-time.js';
import { temporaryFolder } from '../../test/helpers/members.js';
import { readAll } from './pool.js';

const progressInto = (seen: [bytes: number, files: number][]) => ({
  start() {},
  update: (bytes: number, files: number) => void seen.push([bytes, files]),
});

it('reports the stored bytes of all files, never less than before', async () => {
  const folder = await temporaryFolder();
  const files = await Promise.all(
    [10, 300, 7].map(async (size, i) => {
      const path = await folder.write(`${i}.txt`, Buffer.alloc(size, 'x'));
      return { path, size, explicit: false };
    }),
  );
  const seen: [bytes: number, files: number][] = [];
  await readAll(files, 'summary', { jobs: 1, progress: progressInto(seen) });
  await folder.remove();
  expect(seen.at(-1)).toEqual([317, 3]);
  const sums = seen.map(([bytes]) => bytes);
  expect(sums).toEqual(sums.toSorted((a, b) => a - b));
});

it('takes time in proportion to the number of files', async () => {
  const timeOf = async (count: number) => {
    const path = (i: number) => `/nowhere/${i}.txt`;
    const files = Array.from({ length: count }, (_, i) => ({ path: path(i), size: 1, explicit: false }));
    const seen: [number, number][] = [];
    const from = cpuTime();
    await readAll(files, 'summary', { jobs: 1, progress: progressInto(seen) });
    expect(seen).toHaveLength(count);
    return cpuTime() - from;
  };
  await timeOf(2000);
  // Six times the files. Adding up the bytes of all of them at every update took 18 s for 40,000.
  const short = await timeOf(4000);
  expect(await timeOf(24_000)).toBeLessThan(9 * short + 2000);
});
