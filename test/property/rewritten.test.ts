import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { InputError } from '../../src/base/input-error.js';
import { exportTables } from '../../src/library/export.js';
import { merge, slim } from '../../src/library/rewrite.js';
import { cases } from '../helpers/cases.js';
import { inFolder } from '../helpers/cli.js';
import { drawCase } from '../helpers/hostile/fuzz.js';
import { readChrome } from '../helpers/strict-chrome.js';

const SEED = Number(process.env.WHYSLOW_TEST_SEED ?? 77);
const CASES = cases(8, 15);

/** Null: a clear refusal, with nothing left behind. */
async function written(out: string, write: () => Promise<unknown>) {
  try {
    await write();
    return readChrome(out).events;
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    expect(existsSync(out)).toBe(false);
    return null;
  }
}

it(`hostile files are rewritten as valid JSON or refused (seed ${SEED})`, async () => {
  let traces = 0;
  for (let i = 0; i < CASES; i++) {
    await inFolder(async (folder) => {
      const documents = drawCase(SEED, i, i % 4 ? 'kineto' : undefined);
      for (const { name, data } of documents) {
        mkdirSync(dirname(join(folder, 'in', name)), { recursive: true });
        writeFileSync(join(folder, 'in', name), data);
      }
      const options = { steps: i % 2 ? { first: 1, last: 2 } : null, drop: [], max: i % 3 ? null : 90_000 };
      for (const [k, { name }] of documents.entries()) {
        const out = join(folder, `${k}.json.gz`);
        const events = await written(out, () =>
          slim(join(folder, 'in', name), { ...options, out, force: false }),
        );
        traces += Number(events !== null);
      }
      const out = join(folder, 'all.json.gz');
      await written(out, () =>
        merge(join(folder, 'in'), { steps: null, drop: [], out, force: false, jobs: 1 }),
      );
      await exportTables(join(folder, 'in'), { out: join(folder, 'tables'), jobs: 1 }).catch(
        (error: unknown) => {
          if (!(error instanceof InputError)) throw error;
        },
      );
    });
  }
  expect(traces).toBeGreaterThan(3);
});
