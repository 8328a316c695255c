import { expect, it } from 'vitest';
import { inBlocks } from './blocks.js';

it.each([0, 1, 2047, 2048, 2049, 10_000])('visits %d items once, in order', (length) => {
  const visited: number[] = [];
  inBlocks(length, (from, to) => {
    expect(to).toBeGreaterThan(from);
    for (let i = from; i < to; i++) visited.push(i);
  });
  expect(visited).toEqual(Array.from({ length }, (_, i) => i));
});
