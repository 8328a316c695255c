import { describe, expect, it } from 'vitest';
import { drawRank, drawRun } from '../../../test/helpers/paths.js';
import { playRun } from './play.js';
import { planRun } from './run-plan.js';
import { prepareRun } from './what-if-ranks.js';

type Rank = ReturnType<typeof drawRank>;
const prepare = (...ranks: readonly Rank[]) => {
  const { paths, meetings, clocks, table } = drawRun(...ranks);
  return prepareRun(paths, table, meetings, clocks)!;
};
const ms = (ns: number) => Math.round(ns / 1e4) / 100;

describe('a replayed run', () => {
  const late = [
    drawRank(0, 'compute 10, @a 25, compute 5', 'compute 10, @a 25, compute 5'),
    drawRank(1, 'compute 10, idle_host 20, @a 5, compute 5', 'compute 10, idle_host 20, @a 5, compute 5'),
    drawRank(2, 'compute 10, @a 25, compute 5', 'compute 10, @a 25, compute 5'),
  ];

  it('takes as long as measured when nothing is changed', () => {
    const run = prepare(...late);
    expect([ms(run.unchanged), ms(run.measured)]).toEqual([40, 40]);
  });

  it('saves the delay of a late rank, and nothing for other ranks', () => {
    const run = prepare(...late);
    expect(ms(run.without([1]))).toBe(20);
    expect(ms(run.without([0]))).toBe(0);
    expect(ms(run.withoutAny)).toBe(20);
    expect(ms(run.withOverlap)).toBe(5);
  });

  it('saves only up to the next late rank', () => {
    const run = prepare(
      drawRank(0, 'compute 10, @a 25, compute 5'),
      drawRank(1, 'compute 10, idle_host 20, @a 5, compute 5'),
      drawRank(2, 'compute 10, idle_data 15, @a 10, compute 5'),
      drawRank(3, 'compute 10, @a 25, compute 5'),
    );
    expect(ms(run.without([1]))).toBe(5);
    expect(ms(run.without([1, 2]))).toBe(20);
  });

  it('does not save a delay that hides in a bubble', () => {
    // Rank 1 would wait 12 ms for rank 2 anyway, through another group.
    const run = prepare(
      drawRank(0, 'compute 10, @a 22, compute 18'),
      drawRank(1, 'compute 10, idle_data 8, @b 12, compute 18, @c 2'),
      drawRank(2, 'compute 28, @b 2, compute 2, @a 0.5, compute 17.5'),
    );
    expect(ms(run.without([1]))).toBe(0);
  });

  it('hides no more transfer than there is computing', () => {
    const run = prepare(drawRank(0, 'compute 10, @a 30'), drawRank(1, 'compute 10, @a 30'));
    expect(ms(run.withOverlap)).toBe(10);
  });

  it('starts a queued collective when it was ready', () => {
    // Rank 0 reaches `a` with half of its computing done and waits; the second one is queued behind the first.
    const early = drawRank(0, 'compute 10, +a 30, compute 10, -a 20, @a 4, compute 1');
    const late = drawRank(1, 'idle_data 20, compute 10, +a 10, compute 10, @a 4, compute 1');
    const run = prepare(early, late);
    expect(ms(run.unchanged)).toBe(45);
    expect(ms(run.without([1]))).toBe(20);
  });

  it('does not save transfer that the late rank hid but the others wait for', () => {
    // Rank 1 computes during the 14 ms transfer of `a`. Without its delay it waits for it, like the others.
    const others = [0, 2, 3].map((r) => drawRank(r, 'compute 4, @a 16', 'compute 4, @a 16'));
    const hiding = drawRank(1, 'compute 6, +a 14, compute 14', 'compute 6, +a 14, compute 14');
    const run = prepare(...others, hiding);
    expect([ms(run.unchanged), ms(run.measured)]).toEqual([20, 20]);
    expect(ms(run.without([1]))).toBeCloseTo(2, 0);
    expect(ms(run.without([1]))).toBeLessThanOrEqual(2);
  });

  it('does not run in parallel what ran one after the other', () => {
    const run = prepare(
      drawRank(0, 'compute 10, @a 25, @b 5, compute 5'),
      drawRank(1, 'compute 10, idle_host 20, @a 5, @b 5, compute 5'),
      drawRank(2, 'compute 10, @a 25, @b 5, compute 5'),
    );
    expect(ms(run.unchanged)).toBe(45);
    expect(ms(run.without([1]))).toBe(20);
  });

  it('gives nothing where ranks wait for each other in a circle', () => {
    const { paths, meetings, clocks } = drawRun(
      drawRank(0, 'compute 1, @a 2, compute 1, @b 2'),
      drawRank(1, 'compute 1, @b 2, compute 1, @a 2'),
    );
    expect(playRun(planRun(paths, meetings, [0, 0], clocks))).toBeNull();
  });
});
