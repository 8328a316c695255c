import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { CODE_COLUMNS } from '../../test/helpers/draw-run.js';
import { COSTS, RISKS } from './kit/finding.js';
import { RULES } from './list.js';

const IDS = [
  ...[
    'T1',
    'T2',
    'T4',
    'T5',
    'T6',
    'T7',
    'T8',
    'T9',
    'T10',
    'T11',
    'T12',
    'T13',
    'T14',
    'T15',
    'T16',
    'T17',
    'T18',
  ],
  ...['T19', 'T22', 'T23', 'W1', 'W2', 'W3', 'W4', 'W5', 'W6'],
];

const here = fileURLToPath(new URL('.', import.meta.url));
const files = readdirSync(here, { recursive: true, encoding: 'utf8' });
/** `T4` → `t04-`. */
const prefixOf = (id: string) => `${id[0]!.toLowerCase()}${id.slice(1).padStart(2, '0')}-`;

describe('the rules', () => {
  it('are these, each once', () => expect(RULES.map((r) => r.info.id)).toEqual(IDS));

  it.each(RULES.map((r) => [r.info.id, r] as const))(
    '%s says all that `whyslow rules` prints',
    (_, { info, reads }) => {
      const { title, needs, looksFor, why, check, fix } = info;
      for (const text of [title, needs, looksFor, why, check, fix.text, fix.code]) {
        expect(text.trim().length).toBeGreaterThan(4);
      }
      expect(/\bevents\b/.test(needs) && reads === 'traces').toBe(false);
      expect([...COSTS, null]).toContain(info.cost);
      expect(RISKS).toContain(info.risk);
      for (const t of info.thresholds) {
        expect(Number.isFinite(t.value)).toBe(true);
        expect(t.name.length * t.source.length).toBeGreaterThan(0);
      }
    },
  );

  it.each(RULES.map((r) => [r.info.id, r.info.fix.code] as const))(
    '%s has code that fits the terminal',
    (_, code) => {
      expect(code.split('\n').filter((line) => line.length > CODE_COLUMNS)).toEqual([]);
    },
  );

  it.each(IDS)('%s has a file of its own, and a test beside it', (id) => {
    const own = files.filter((f) => f.split('/').at(-1)!.startsWith(prefixOf(id)));
    const sources = own.filter((f) => !f.endsWith('.test.ts'));
    expect(sources).toHaveLength(1);
    expect(readFileSync(`${here}/${sources[0]}`, 'utf8')).toContain(`id: '${id}'`);
    expect(own).toContain(sources[0]!.replace(/\.ts$/, '.test.ts'));
  });
});
