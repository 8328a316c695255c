import { describe, expect, it } from 'vitest';
import { drawRank, drawRun } from '../../../test/helpers/paths.js';
import { walkBack } from './critical-path.js';

/** Everything on the path as `rank:class ms`, most first, per step. */
function pathOf(first: number, ...ranks: readonly ReturnType<typeof drawRank>[]) {
  const { paths, meetings } = drawRun(...ranks);
  const path = walkBack(paths, meetings, () => first)!;
  const parts = path.ranks.flatMap(({ rank, time }) =>
    Object.entries(time)
      .filter(([, ns]) => ns > 1)
      .map(([c, ns]) => ({ text: `${rank}:${c} ${Math.round(ns / 1e4) / 100}`, ns })),
  );
  return { parts: parts.sort((a, b) => b.ns - a.ns).map((p) => p.text), hops: path.hops };
}

describe('the critical path', () => {
  it('hops to the rank that was waited for, at the time it came', () => {
    const path = pathOf(
      0,
      drawRank(0, 'compute 10, @a 25, compute 5'),
      drawRank(1, 'compute 10, idle_host 20, @a 5, compute 5'),
    );
    expect(path.parts).toEqual(['1:idle_host 20', '1:compute 10', '0:compute 5', '0:comms_transfer 5']);
    expect(path.hops).toBe(1);
  });

  it('stays on a rank that does not wait', () => {
    const path = pathOf(
      1,
      drawRank(0, 'compute 10, @a 25, compute 5'),
      drawRank(1, 'compute 10, idle_data 20, @a 5, compute 5'),
    );
    expect(path.parts).toEqual(['1:idle_data 20', '1:compute 15', '1:comms_transfer 5']);
    expect(path.hops).toBe(0);
  });

  it('follows a chain of delays to the rank where it begins', () => {
    // Rank 2 is late to its group with 1, which then is late to its group with 0.
    const path = pathOf(
      0,
      drawRank(0, 'compute 10, @outer 33, compute 7'),
      drawRank(1, 'compute 10, @inner 22, compute 8, @outer 3, compute 7'),
      drawRank(2, 'idle_data 30, @inner 2, compute 18'),
    );
    expect(path.parts).toEqual([
      ...['2:idle_data 30', '1:compute 8', '0:compute 7', '0:comms_transfer 3', '1:comms_transfer 2'],
    ]);
    expect(path.hops).toBe(2);
  });

  it('does not wait where computing hides the collective', () => {
    const path = pathOf(
      0,
      drawRank(0, 'compute 10, +a 30, compute 32, compute 8'),
      drawRank(1, 'compute 35, +a 5, compute 15'),
    );
    expect(path.parts).toEqual(['0:compute 50']);
  });

  it('goes through several steps', () => {
    const path = pathOf(
      0,
      drawRank(0, 'compute 10, @a 5', 'compute 10, @a 15', 'compute 10, @a 5'),
      drawRank(1, 'compute 10, @a 5', 'compute 10, idle_data 10, @a 5', 'compute 10, @a 5'),
    );
    expect(path.parts.filter((p) => p.includes('idle_data'))).toEqual(['1:idle_data 3.33']);
    expect(path.hops).toBeCloseTo(1 / 3, 6);
  });

  it('ends even where collectives were matched wrongly', () => {
    // Each rank waits for the other: impossible, but a file may say so.
    const path = pathOf(0, drawRank(0, 'compute 1, @a 9, @b 2'), drawRank(1, 'compute 1, @a 2, @b 9'));
    expect(path.parts.length).toBeGreaterThan(0);
  });
});
