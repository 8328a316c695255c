import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { share, totalsOf } from '../../zoo/score.js';
import { missedFloors, scoreZoo } from '../../zoo/scoreboard.js';

const pathOf = (name: string) => fileURLToPath(new URL(`../../zoo/${name}`, import.meta.url));
const FIXTURES = pathOf('fixtures');

describe('the shipped zoo', async () => {
  const { truth, scores } = await scoreZoo(FIXTURES);

  it('the shipped zoo has a trace for every case in truth.json', () => {
    expect(scores.map((s) => s.name)).toEqual(truth.runs.map((r) => r.name));
    expect(scores.length).toBeGreaterThanOrEqual(15);
  });

  it('the shipped zoo is diagnosed well enough (the floors of zoo/scoreboard.ts)', () => {
    expect(missedFloors(totalsOf(scores))).toEqual([]);
  });

  it('no false gain is predicted on the zoo', () => {
    expect(scores.flatMap((s) => s.falsePromises)).toEqual([]);
  });
});

describe('host-bound loops with ground truth', async () => {
  const sets = await Promise.all(['clean/b', 'clean/new'].map((set) => scoreZoo(pathOf(set))));
  const totals = totalsOf(sets.flatMap((s) => s.scores));

  it('host-bound loops with ground truth have a corrected step within 20% of the measured one', () => {
    expect(totals.step.of).toBeGreaterThanOrEqual(35);
    expect(share(totals.step)).toBeGreaterThanOrEqual(0.9);
  });

  it('get the right verdict and the right fix', () => {
    expect(share(totals.verdict)).toBeGreaterThanOrEqual(0.95);
    expect(share(totals.top2)).toBeGreaterThanOrEqual(0.95);
    expect(totals.falsePromises).toBe(0);
  });
});

describe('loops that wait for the GPU', async () => {
  const { scores } = await scoreZoo(pathOf('clean/unseen'));
  const score = (name: string) => scores.find((s) => s.name === name)!;

  it.each([
    ['table_doubles', 'T13'],
    ['llama_eager', 'T15'],
    ['vocabulary_50257', 'unaligned-products'],
  ])('%s gets its fix first, and the measured gain is in its range', (name, rule) => {
    expect(score(name)).toMatchObject({ answer: 'gpu', inRange: true, overpromised: false });
    expect(score(name).fixes[0]).toBe(rule);
  });

  it('loops that wait for the GPU get no advice once compiled', () => {
    expect(score('llama_compiled').fixes).toEqual([]);
    expect(scores.flatMap((s) => s.falsePromises)).toEqual([]);
  });
});
