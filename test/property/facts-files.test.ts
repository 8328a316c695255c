import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { InputError } from '../../src/base/input-error.js';
import { diagnose } from '../../src/library/diagnose.js';
import { facts } from '../../src/library/facts.js';
import { cases, countCases } from '../helpers/cases.js';
import { inFolder } from '../helpers/folder.js';
import { hash01 } from '../helpers/simulate/random.js';
import { simulateRun, writeRun } from '../helpers/simulate/simulate.js';

const CASES = cases(30, 60);

/** A file may be anything: what it claims about itself may be wrong. */
it(`${CASES} facts files with wrong values neither fail nor hang`, () =>
  inFolder(async (folder) => {
    countCases(CASES);
    const [traces, good, bad] = ['run', 'good', 'bad'].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ];
    writeRun(simulateRun({ seed: 2, ranks: 2, steps: 3, eventsPerStep: 60 }), traces);
    await facts(traces, { folder: good, jobs: 1 });
    mkdirSync(bad);
    const [first, second] = readdirSync(good).map((f) => readFileSync(join(good, f)));
    writeFileSync(join(bad, 'rank-1.facts'), second!);
    const text = gunzipSync(first!).toString('latin1');
    const numbers = [...text.matchAll(/(?<=[:[,])-?\d+(?:\.\d+)?(?=[,\]}])/g)];
    for (let seed = 0; seed < CASES; seed++) {
      const draw = (n: number, salt: number) => Math.floor(hash01(seed, salt) * n);
      let changed = text;
      // A number becomes another one, or a byte of a column does. Lengths are kept, or the file would be refused at once.
      if (seed % 3 > 0) {
        const { 0: old, index } = numbers[draw(numbers.length, 1)]!;
        const other = ['9'.repeat(old.length), '0'.repeat(old.length), `-${'7'.repeat(old.length - 1)}`][
          draw(3, 2)
        ]!;
        changed =
          text.slice(0, index) + (old.length > 1 ? other : `${draw(10, 3)}`) + text.slice(index + old.length);
      } else {
        const at = draw(text.length, 4);
        changed = text.slice(0, at) + String.fromCharCode(draw(256, 5)) + text.slice(at + 1);
      }
      writeFileSync(join(bad, 'rank-0.facts'), gzipSync(Buffer.from(changed, 'latin1'), { level: 1 }));
      const failure = await diagnose(bad, { jobs: 1 }).then(
        () => null,
        (error: unknown) => error,
      );
      expect(failure === null || failure instanceof InputError, `seed ${seed}: ${String(failure)}`).toBe(
        true,
      );
    }
  }));
