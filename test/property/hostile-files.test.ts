import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { reportSchema } from '../../schemas/report-schema.js';
import { diagnose, inspect } from '../../src/index.js';
import { cases } from '../helpers/cases.js';
import { type Doc, goodLog, goodManifests, goodTrace } from '../helpers/plain-run.js';

const folder = mkdtempSync(join(tmpdir(), 'whyslow-hostile-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** JSON text that may stand where any value was. */
const HOSTILE = [
  ...['1e999', '-1e999', '1e308', '-1', '0', '-0', '0.5', '9007199254740993', '1e15', '1e18', '4294967296'],
  ...['null', 'true', '""', '"12"', 'NaN', '-Infinity', '[]', '{}', '[[]]', '[null]', '[1e308]'],
  ...[
    '{"toString":1,"valueOf":1}',
    '{"__proto__":{"a":1}}',
    '"__proto__"',
    '{"length":5}',
    '"\\u0000\\ud800"',
  ],
  `"${'A'.repeat(5000)}"`,
  '['.repeat(3000) + ']'.repeat(3000),
  `${'{"a":'.repeat(3000)}1${'}'.repeat(3000)}`,
];

/** Where to put a value: a number for each level, taken modulo the number of entries there. */
const change = fc.record({
  path: fc.array(fc.nat({ max: 500 }), { minLength: 1, maxLength: 5 }),
  value: fc.option(fc.constantFrom(...HOSTILE), { nil: null }),
});
type Change = typeof change extends fc.Arbitrary<infer T> ? T : never;

/** The document as text, with values replaced, or left out where the change is null. */
function changed(doc: Doc, changes: readonly Change[]): string {
  const copy = structuredClone(doc) as Record<string, unknown>;
  changes.forEach(({ path, value }, i) => {
    let at: Record<string, unknown> = copy;
    let key = '';
    for (const step of path) {
      const inner = key === '' ? at : at[key];
      if (typeof inner !== 'object' || inner === null || Object.keys(inner).length === 0) break;
      at = inner as Record<string, unknown>;
      key = Object.keys(at)[step % Object.keys(at).length]!;
    }
    if (value === null) delete at[key];
    else at[key] = `@${i}@`;
  });
  return JSON.stringify(copy).replace(/"@(\d+)@"/g, (_, i: string) => changes[Number(i)]!.value!);
}

function write(files: Readonly<Record<string, string>>): string[] {
  return Object.entries(files).map(([name, text]) => {
    const path = join(folder, name);
    writeFileSync(path, text);
    return path;
  });
}

/** Paths of the values that JSON would turn into null. */
function notJson(value: unknown, path = ''): string[] {
  if (typeof value === 'number') return Number.isFinite(value) ? [] : [`${path} ${value}`];
  if (value === undefined) return [path];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => notJson(inner, `${path}.${key}`));
}

async function expectSound(paths: readonly string[], goodRank: number): Promise<void> {
  const report = await diagnose(paths, { jobs: 1 });
  expect(notJson(report)).toEqual([]);
  expect(reportSchema.safeParse(report).error?.issues ?? []).toEqual([]);
  expect(report.ranks.map((r) => r.rank)).toContain(goodRank);
  expect(report.health.problems.filter((p) => p.code.endsWith('-failed'))).toEqual([]);
  expect(notJson(await inspect(paths, { jobs: 1 }))).toEqual([]);
}

const changes = fc.array(change, { minLength: 1, maxLength: 8 });
const runs = (share: number) => ({
  numRuns: Math.ceil(Number(process.env.WHYSLOW_FUZZ ?? cases(20, 60)) * share),
});

describe('one file with hostile values next to a good one', () => {
  it('a trace', async () => {
    await fc.assert(
      fc.asyncProperty(changes, async (all) => {
        const texts = { 'a.json': changed(goodTrace(0), all), 'rank1.json': JSON.stringify(goodTrace(1)) };
        await expectSound(write(texts), 1);
      }),
      runs(1),
    );
  });

  it('an event log', async () => {
    const lines = (doc: readonly Doc[]) => `${doc.map((line) => JSON.stringify(line)).join('\n')}\n`;
    await fc.assert(
      fc.asyncProperty(changes, async (all) => {
        const hostile = changed(goodLog(0) as unknown as Doc, all);
        // Lines again: the commas between records become line breaks.
        const text = hostile.slice(1, -1).replace(/,(?=\{"(?:name|whyslow)")/g, '\n');
        await expectSound(write({ 'a.jsonl': text, 'b_rank_1.jsonl': lines(goodLog(1)) }), 1);
      }),
      runs(0.5),
    );
  });

  it('manifests', async () => {
    const { run, rank } = goodManifests();
    const trace = JSON.stringify(goodTrace(1));
    await fc.assert(
      fc.asyncProperty(changes, changes, async (ofRun, ofRank) => {
        const texts = { 'run.json': changed(run, ofRun), 'rank_0.json': changed(rank, ofRank) };
        await expectSound(write({ 'rank1.json': trace, ...texts }), 1);
      }),
      runs(0.5),
    );
  });
});
