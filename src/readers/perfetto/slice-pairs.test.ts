import { describe, expect, it } from 'vitest';
import { SlicePairs } from './slice-pairs.js';

/** `b0 1 2`: row 0 begins on track 1 at time 2; `e 1 5`: an end on track 1 at time 5. Returns the durations by row. */
function pair(...events: readonly string[]) {
  const durations: Record<number, number> = {};
  const pairs = new SlicePairs((row, ns) => {
    durations[row] = ns;
  });
  for (const event of events) {
    const [what, track, time] = event.split(' ') as [string, string, string];
    if (what === 'e') pairs.end(Number(track), Number(time));
    else pairs.begin(Number(what.slice(1)), Number(track), Number(time));
  }
  pairs.finish();
  return { durations, unmatched: pairs.unmatched };
}

describe('beginnings and ends in blocks, as PyTorch writes them', () => {
  it('slices are paired by position, even if their track alone is ambiguous', () => {
    // One begins when the other ends: by time and track alone, the first would end at 20 and the second at 10.
    expect(pair('b0 1 0', 'b1 1 10', 'b2 1 20', 'e 1 10', 'e 1 20', 'e 1 30').durations).toEqual({
      0: 10,
      1: 10,
      2: 10,
    });
    // Nested, and overlapping.
    expect(pair('b0 1 0', 'b1 1 2', 'e 1 9', 'e 1 5').durations).toEqual({ 0: 9, 1: 3 });
    expect(pair('b0 1 0', 'b1 1 5', 'b2 1 6', 'e 1 7', 'e 1 9', 'e 1 6').durations).toEqual({
      0: 7,
      1: 4,
      2: 0,
    });
  });

  it('holds for each block by itself, on several tracks', () => {
    const events = ['b0 1 0', 'b1 2 0', 'e 1 9', 'e 2 4', 'b2 1 1', 'b3 1 3', 'e 1 3', 'e 1 4'];
    expect(pair(...events)).toEqual({ durations: { 0: 9, 1: 4, 2: 2, 3: 1 }, unmatched: 0 });
  });

  it('keeps what has an end where the file was cut', () => {
    const cut = pair('b0 1 0', 'b1 1 10', 'b2 1 20', 'e 1 10', 'e 1 20');
    expect(cut).toEqual({ durations: { 0: 10, 1: 10, 2: Number.NaN }, unmatched: 1 });
  });
});

describe('beginnings and ends as they happened', () => {
  it('belong together as brackets do', () => {
    expect(pair('b0 1 0', 'b1 1 1', 'e 1 2', 'e 1 3').durations).toEqual({ 0: 3, 1: 1 });
    expect(pair('b0 1 0', 'b1 1 1', 'e 1 2', 'b2 1 3', 'e 1 4', 'e 1 5').durations).toEqual({
      0: 5,
      1: 1,
      2: 1,
    });
  });

  it('on each track alone', () => {
    expect(pair('b0 1 0', 'b1 2 1', 'e 1 2', 'e 2 3').durations).toEqual({ 0: 2, 1: 2 });
  });

  it('count what has no other half', () => {
    expect(pair('e 1 2')).toEqual({ durations: {}, unmatched: 1 });
    expect(pair('b0 1 0', 'b1 1 1', 'e 1 2', 'e 1 3', 'e 1 4').unmatched).toBe(1);
    expect(pair('b0 1 0').durations).toEqual({ 0: Number.NaN });
    // An end before its beginning.
    expect(pair('b0 1 9', 'e 1 2').unmatched).toBe(2);
  });
});
