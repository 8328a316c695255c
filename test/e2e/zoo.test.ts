import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { totalsOf } from '../../zoo/score.js';
import { missedFloors, scoreZoo } from '../../zoo/scoreboard.js';

const FIXTURES = fileURLToPath(new URL('../../zoo/fixtures', import.meta.url));

describe('the shipped zoo', async () => {
  const { truth, scores } = await scoreZoo(FIXTURES);

  it('has a trace for every case in truth.json', () => {
    expect(scores.map((s) => s.name)).toEqual(truth.runs.map((r) => r.name));
    expect(scores.length).toBeGreaterThanOrEqual(15);
  });

  it('is diagnosed well enough (the floors of zoo/scoreboard.ts)', () => {
    expect(missedFloors(totalsOf(scores))).toEqual([]);
  });

  it('gets no false promises', () => {
    expect(scores.flatMap((s) => s.falsePromises)).toEqual([]);
  });
});
