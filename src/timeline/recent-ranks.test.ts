import { expect, it } from 'vitest';
import { bytesOf, RecentRanks } from './recent-ranks.js';

it('keeps ranks up to the limit; the one not asked for the longest goes first', async () => {
  const read: number[] = [];
  const ranks = new RecentRanks(250, async (rank) => {
    read.push(rank);
    return { value: `rank ${rank}`, bytes: 100 };
  });
  expect(await Promise.all([ranks.get(0), ranks.get(0), ranks.get(1)])).toEqual([
    'rank 0',
    'rank 0',
    'rank 1',
  ]);
  expect(read).toEqual([0, 1]);
  await ranks.get(0);
  await ranks.get(2);
  expect(ranks.hasRoom).toBe(true);
  await ranks.get(0);
  expect(read).toEqual([0, 1, 2]);
  await ranks.get(1);
  expect(read).toEqual([0, 1, 2, 1]);
});

it('keeps a rank that is larger than the limit while it is looked at, and forgets failures', async () => {
  let fails = true;
  const ranks = new RecentRanks(10, async () => {
    if (fails) throw new Error('gone');
    return { value: 'large', bytes: 1000 };
  });
  await expect(ranks.get(0)).rejects.toThrow('gone');
  fails = false;
  expect(await ranks.get(0)).toBe('large');
  expect(await ranks.get(0)).toBe('large');
});

it('counts the memory of columns at any depth', () => {
  expect(bytesOf({ a: new Float64Array(4), b: [{ c: new Uint8Array(3) }, null], d: 'text' })).toBe(35);
});
