import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { CODE_COLUMNS } from '../../test/helpers/draw-run.js';
import { COSTS, RISKS } from '../remedies/kit/remedy.js';
import { RULES } from './rules.js';

const here = fileURLToPath(new URL('.', import.meta.url));
/** Files in the folders of rules: `input/slow-workers.ts`. */
const files = readdirSync(here, { recursive: true, encoding: 'utf8' }).filter((f) =>
  /^(?!kit\/)[\w-]+\/[\w-]+(?:\.test)?\.ts$/.test(f),
);
const sources = files.filter((f) => !f.endsWith('.test.ts'));
const nameOf = (file: string) => file.replace(/^.*\/|\.ts$/g, '');
const byId = RULES.map((rule) => [rule.info.id, rule] as const);

describe('the list of rules', () => {
  it('has every file, under the name of its rule', () => {
    expect(RULES.map((r) => r.info.id).toSorted()).toEqual(sources.map(nameOf).toSorted());
  });

  it('has every number of the knowledge base, in its order', () => {
    const numbers = (letter: string, ...which: number[]) => which.map((n) => `${letter}${n}`);
    expect([...new Set(RULES.map((r) => r.info.alias))].filter((alias) => alias !== null)).toEqual([
      ...numbers('T', 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23),
      ...numbers('W', 1, 2, 3, 4, 5, 6),
    ]);
  });

  it.each(sources)('%s has a test next to it', (file) => {
    expect(files).toContain(file.replace(/\.ts$/, '.test.ts'));
  });
});

it.each(sources)('%s imports no other rule', (file) => {
  expect(readFileSync(`${here}/${file}`, 'utf8')).not.toMatch(/from '\.\/|from '\.\.\/(?!\.\.\/|kit\/)/);
});

describe('what `whyslow rules` prints', () => {
  it.each(byId)('%s has every text', (_, { info, reads }) => {
    const { title, needs, looksFor, why, check, fix } = info;
    for (const text of [title, needs, looksFor, why, check, fix.text, fix.code])
      expect(text.trim().length).toBeGreaterThan(4);
    expect(info.id).toMatch(/^[a-z0-9]+(?:-[a-z0-9]+)+$|^recompiles$/);
    expect(/\bevents\b/.test(needs) && reads === 'traces').toBe(false);
    expect([...COSTS, null]).toContain(info.cost);
    expect(RISKS).toContain(info.risk);
    for (const t of info.thresholds) {
      expect(Number.isFinite(t.value)).toBe(true);
      expect(t.name.length * t.source.length).toBeGreaterThan(0);
    }
  });

  it.each(byId)('%s has code that fits the terminal', (_, { info }) => {
    expect(info.fix.code.split('\n').filter((line) => line.length > CODE_COLUMNS)).toEqual([]);
  });

  it.each(byId)('%s recommends only commands that exist', (_, { info }) => {
    const text = JSON.stringify(info);
    const commands = [...text.matchAll(/whyslow (\w+)/g)].map(([, command]) => command);
    for (const command of commands)
      expect(['diagnose', 'inspect', 'run', 'capture', 'rules', 'triage', 'doctor']).toContain(command);
  });
});
