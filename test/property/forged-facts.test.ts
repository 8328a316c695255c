import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { InputError } from '../../src/base/input-error.js';
import { diagnose } from '../../src/library/diagnose.js';
import { facts } from '../../src/library/facts.js';
import type { Report } from '../../src/library/vocabulary.js';
import { cases, countCases } from '../helpers/cases.js';
import { cpuTime } from '../helpers/cpu-time.js';
import { forgeFacts, getAt, HOSTILE, type Part, placesIn, setAt } from '../helpers/forge-facts.js';
import { hash01 } from '../helpers/simulate/random.js';
import { simulateRun, writeRun } from '../helpers/simulate/simulate.js';

const CASES = cases(60, 1500);
/** CPU, not time on a clock: other tests run at the same time. */
const MOST_MS = 10_000;

/** Facts of one rank are forged, those of the other are not. */
describe('facts that somebody forged', () => {
  let folder: string;
  let honest: Buffer;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'whyslow-forged-'));
    writeRun(simulateRun({ seed: 3, ranks: 2, steps: 3, eventsPerStep: 60 }), join(folder, 'run'));
    await facts(join(folder, 'run'), { folder: join(folder, 'good'), jobs: 1 });
    mkdirSync(join(folder, 'bad'));
    const [first, second] = readdirSync(join(folder, 'good')).map((f) =>
      readFileSync(join(folder, 'good', f)),
    );
    honest = first!;
    writeFileSync(join(folder, 'bad/rank-1.facts'), second!);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  /** The report, or why there is none. */
  async function tried(change: (parts: readonly Part[]) => void, what: string): Promise<Report | InputError> {
    writeFileSync(join(folder, 'bad/rank-0.facts'), forgeFacts(honest, change));
    const before = cpuTime();
    const result = await diagnose(join(folder, 'bad'), { jobs: 1 }).catch((error: unknown) => error);
    expect(cpuTime() - before, what).toBeLessThan(MOST_MS);
    if (result instanceof InputError) return result;
    expect(result, what).toHaveProperty('verdict');
    expect(impossibleIn(result), what).toEqual([]);
    return result as Report;
  }

  it(`facts with ${CASES} impossible values cost little, and give a report of finite numbers or a reason`, async () => {
    countCases(CASES);
    for (let seed = 0; seed < CASES; seed++) {
      const draw = <T>(of: readonly T[], salt: number): T => of[Math.floor(hash01(seed, salt) * of.length)]!;
      let what = `seed ${seed}`;
      await tried((parts) => {
        for (let i = 0; i <= seed % 3; i++) {
          const { json } = draw(parts, 3 * i + 1);
          const path = draw(placesIn(json), 3 * i + 2);
          const wrong = draw(HOSTILE, 3 * i + 3);
          what += `, ${path.join('.')} = ${JSON.stringify(wrong)?.slice(0, 40)}`;
          setAt(json, path, wrong);
        }
      }, what);
    }
  });

  const FORGED: readonly (readonly [string, part: number, path: string, forge: (was: unknown) => unknown])[] =
    [
      ['a plan of 10 billion steps', 1, 'plan.steps.length', () => 1e10],
      ['a plan of 100 million steps', 1, 'plan.steps.length', () => 1e8],
      ['an infinite step', 0, 'facts.steps.periods.0', () => 'Infinity'],
      ['a step of negative length', 0, 'facts.steps.periods.0', (was) => -(was as number)],
      ['a class that is not a number', 0, 'facts.time.compute', () => 'NaN'],
      ['a class of negative time', 0, 'facts.time.idle_comms', () => -5e6],
      ['classes of ten times the step', 0, 'facts.time.idle_data', (was) => 1e10 + (was as number)],
      ['a kernel of negative time', 0, 'facts.kernels.0.total', () => -1e9],
      ['a step that is not there', 0, 'facts.steps.indices', (was) => [...(was as number[]), 1]],
    ];
  it.each(FORGED)(
    'facts that claim what cannot be are refused, and the other rank is read: %s',
    async (name, part, path, forge) => {
      const keys = path.split('.');
      await refused((parts) => {
        const { data } = parts[part]!.json;
        setAt(data, keys, forge(getAt(data, keys)));
      }, name);
    },
  );

  it('facts that name a column twice are refused, so that a small file cannot take much memory', () =>
    refused((parts) => {
      const { data } = parts[1]!.json;
      setAt(data, ['plan', 'nodes', 'data'], getAt(data, ['plan', 'nodes', 'hostWork']));
    }, 'a column twice'));

  it('facts with 3 million nodes in a file of 4 KB are refused', () =>
    refused((parts) => {
      const [, detail] = parts;
      const { data, columns } = detail!.json;
      setAt(data, ['plan', 'nodes', 'length'], 3e6);
      setAt(data, ['plan', 'nodes', 'kind'], columns.push(['Uint8Array', 'delta', 3e6, 3e6]) - 1);
      detail!.bytes = Buffer.concat([detail!.bytes, Buffer.alloc(3e6)]);
    }, '3 million nodes'));

  async function refused(change: (parts: readonly Part[]) => void, what: string): Promise<void> {
    const report = await tried(change, what);
    if (report instanceof InputError) throw report;
    expect(report.health.problems.map((p) => p.code)).toContain('broken-facts');
    expect(report.step.ms).toBeGreaterThan(0);
  }
});

/** Numbers that are not finite. */
function impossibleIn(value: unknown, path = ''): string[] {
  if (typeof value === 'number') return Number.isFinite(value) ? [] : [`${path}: ${value}`];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) => impossibleIn(item, `${path}.${key}`));
}
