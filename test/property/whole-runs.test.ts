import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import * as library from '../../src/index.js';
import { cases, countCases, SEED } from '../helpers/cases.js';
import { inFolder } from '../helpers/folder.js';
import { drawCase, tryCase } from '../helpers/hostile/fuzz.js';

/** `npm run soak` also runs a million with test/soak/fuzz.ts. */
const CASES = cases(80, 1200);

describe('damaged runs', () => {
  it(`give a report or a reason, never a crash or a number that is none (${CASES} cases)`, () =>
    inFolder(async (folder) => {
      const failures: string[] = [];
      for (let i = 0; i < CASES; i++) {
        const wrong = await tryCase(library, join(folder, 'run'), SEED, i);
        if (wrong) failures.push(`case ${i} of seed ${SEED}: ${wrong}`);
      }
      countCases(CASES);
      expect(failures).toEqual([]);
    }));

  it('are the same for the same seed, and of every format', () => {
    const names = Array.from({ length: 400 }, (_, i) => drawCase(7, i)).flatMap((files) =>
      files.map((f) => f.name),
    );
    for (const ending of ['json', 'jsonl', 'txt', 'gz', 'zst', 'tar', 'zip'])
      expect(names.some((name) => name.endsWith(ending))).toBe(true);
    expect(drawCase(7, 3)).toEqual(drawCase(7, 3));
    expect(drawCase(7, 3)).not.toEqual(drawCase(8, 3));
  });
});
