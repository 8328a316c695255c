import { writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { inspect } from '../../src/library/inspect.js';
import { READERS } from '../../src/readers/registry.js';
import { cases, countCases, SEED } from '../helpers/cases.js';
import { inFolder } from '../helpers/folder.js';
import { drawDocument, FORMAT_NAMES, type FormatName, validDocument } from '../helpers/hostile/documents.js';
import { drawCase, tryCase } from '../helpers/hostile/fuzz.js';
import { Random } from '../helpers/simulate/random.js';

/** `npm run soak` also runs a million with test/soak/fuzz.ts. */
const CASES = cases(80, 1200);
const PER_FORMAT = cases(6, 300);

/** What went wrong in so many cases. */
const failuresOf = (count: number, format?: FormatName): Promise<readonly string[]> =>
  inFolder(async (folder) => {
    const failures: string[] = [];
    for (let i = 0; i < count; i++) {
      const wrong = await tryCase(join(folder, 'run'), SEED, i, format);
      if (wrong) failures.push(`case ${i} of seed ${SEED}: ${wrong}`);
    }
    countCases(count);
    return failures;
  });

describe('damaged runs', () => {
  it(`give a report or a reason, never a crash or a number that is none (${CASES} cases)`, async () => {
    expect(await failuresOf(CASES)).toEqual([]);
  });

  it.each(FORMAT_NAMES)(
    `damaged files cost little and give finite numbers or a reason (${PER_FORMAT} cases): %s`,
    async (format) => {
      expect(await failuresOf(PER_FORMAT, format)).toEqual([]);
    },
  );

  it('are the same for the same seed, and of every format', () => {
    const names = Array.from({ length: 400 }, (_, i) => drawCase(7, i)).flatMap((files) =>
      files.map((f) => f.name),
    );
    for (const ending of ['json', 'jsonl', 'txt', 'gz', 'zst', 'tar', 'zip'])
      expect(names.some((name) => name.endsWith(ending))).toBe(true);
    expect(drawCase(7, 3)).toEqual(drawCase(7, 3));
    expect(drawCase(7, 3)).not.toEqual(drawCase(8, 3));
  });

  it('every reader has files that are damaged, and finds events in them as long as they are not', async () => {
    const found = new Set<string>();
    for (const format of FORMAT_NAMES) {
      const { name, data } = validDocument(format);
      const reader = READERS.find((one) => one.sniff(data.subarray(0, 65_536)))!;
      found.add(reader.id);
      if (reader.isAlwaysRefused || reader.line.counts === '') continue;
      await inFolder(async (folder) => {
        const path = join(folder, basename(name));
        writeFileSync(path, data);
        const { inputs } = await inspect(path, { jobs: 1 });
        expect(inputs[0]?.events, format).toBeGreaterThan(0);
      });
    }
    expect(found).toEqual(new Set(READERS.map((reader) => reader.id)));
  });

  it('damage leaves most files of a format recognizable, so that it reaches the reader', () => {
    const random = new Random(3, 5);
    for (const format of FORMAT_NAMES) {
      const drawn = Array.from({ length: 20 }, () => drawDocument(random, 0, format).data);
      const known = drawn.filter((data) => READERS.some((r) => r.sniff(data.subarray(0, 65_536))));
      expect(known.length, format).toBeGreaterThan(10);
    }
  });
});
