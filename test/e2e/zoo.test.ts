import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { unpackTar } from 'modern-tar';
import { describe, expect, it } from 'vitest';
import { recordings, zooArchive } from '../../zoo/archive.js';
import { share, totalsOf } from '../../zoo/score.js';
import { missedFloors, SHIPPED, scoreZoo } from '../../zoo/scoreboard.js';
import { accuracyTable, readmeSentence } from '../../zoo/table.js';

const pathOf = (name: string) => fileURLToPath(new URL(`../../zoo/${name}`, import.meta.url));
const textOf = (name: string) => readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8');
const scored = await Promise.all(SHIPPED.map(async (name) => ({ name, ...(await scoreZoo(pathOf(name))) })));
const setOf = (name: string) => scored.find((set) => set.name === name)!;

describe('figures in the documents', () => {
  it('the table of docs/accuracy.md is what `npm run zoo` prints', () => {
    expect(textOf('docs/accuracy.md')).toContain(`\n${accuracyTable(scored)}\n`);
  });

  it('the README has the number of right verdicts that `npm run zoo` finds', () => {
    expect(textOf('README.md').replace(/\s+/g, ' ')).toContain(readmeSentence(scored));
  });
});

describe('the archive of `npm run zoo:archive`', async () => {
  const { bytes, count } = await zooArchive();
  const files = new Map((await unpackTar(bytes)).map(({ header, data }) => [header.name, data!]));

  it('the archive has every recording with its truth, and the right checksum of every file', () => {
    const sums = Buffer.from(files.get('SHA256SUMS')!).toString().trim().split('\n');
    expect(sums).toHaveLength(files.size - 2);
    for (const sum of sums) {
      const [expected, path] = sum.split('  ');
      expect(createHash('sha256').update(files.get(path!)!).digest('hex')).toBe(expected);
    }
    const scoredNames = scored.flatMap((set) => set.scores.map((s) => `zoo/${set.name}/${s.name}`));
    expect(recordings().map((r) => r.name)).toEqual(expect.arrayContaining(scoredNames));
    expect(recordings()).toHaveLength(count);
    for (const { truth, files: ofRecording } of recordings())
      for (const path of [truth, ...ofRecording]) expect(files.has(path), path).toBe(true);
  });
});

describe('the shipped zoo', () => {
  const { truth, scores } = setOf('fixtures');

  it('the shipped zoo has a trace for every case in truth.json', () => {
    expect(scores.map((s) => s.name)).toEqual(truth.runs.map((r) => r.name));
    expect(scores.length).toBeGreaterThanOrEqual(15);
  });

  it('the shipped zoo is diagnosed well enough (the floors of zoo/scoreboard.ts)', () => {
    expect(missedFloors(totalsOf(scores))).toEqual([]);
  });

  it('no findings of one recording contradict each other', () => {
    const all = scored.flatMap(({ scores }) => scores);
    expect(all.flatMap((s) => s.contradictions.map((text) => `${s.name}: ${text}`))).toEqual([]);
  });

  it('no false gain is predicted on the zoo', () => {
    expect(scores.flatMap((s) => s.falsePromises)).toEqual([]);
  });
});

describe('host-bound loops with ground truth', () => {
  const totals = totalsOf(['clean/b', 'clean/new'].flatMap((name) => setOf(name).scores));

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

describe('loops that wait for the GPU', () => {
  const { scores } = setOf('clean/unseen');
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
