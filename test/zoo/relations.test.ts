import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { diagnose } from '../../src/library/diagnose.js';
import type { Report } from '../../src/report/report.js';
import {
  readTraceFile,
  renamed,
  reordered,
  shifted,
  shuffled,
  type TraceFile,
  withColdStart,
  withoutMarks,
  withoutPins,
  withTimesAsText,
} from '../helpers/relations.js';
import { Random } from '../helpers/simulate/random.js';

const FIXTURES = fileURLToPath(new URL('../../zoo/fixtures', import.meta.url));
/** Loops whose answer rests on a mark: each has the reason. */
const NEEDS_MARKS: Readonly<Record<string, string>> = {
  epoch_respawn: 'without marks, the end of an epoch is not seen as a restart of its workers',
};
const names = readdirSync(FIXTURES, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map((entry) => entry.name);
const pathOf = (name: string) => join(FIXTURES, name, 'rank0.json.gz');
const drawn = (seed: number) => {
  const random = new Random(seed, 0);
  return () => random.next();
};
const firstFixes = ({ findings }: Report) => findings.slice(0, 2).map((f) => f.id);

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'whyslow-relations-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

async function diagnosed(file: TraceFile): Promise<Report> {
  const path = join(folder, 'rank0.json');
  writeFileSync(path, JSON.stringify(file));
  return diagnose(path, { jobs: 1 });
}

/** The answer must not change, and the step hardly. */
function expectSameAnswer(changed: Report, usual: Report): void {
  expect(changed.verdict.bottleneck).toBe(usual.verdict.bottleneck);
  expect(firstFixes(changed)).toEqual(firstFixes(usual));
  expect(changed.step.ms! / usual.step.ms!).toBeGreaterThan(0.85);
  expect(changed.step.ms! / usual.step.ms!).toBeLessThan(1.15);
}

describe('a zoo trace keeps its verdict, first fixes and step', () => {
  it.each(names.filter((name) => !(name in NEEDS_MARKS)))(
    '%s without ProfilerStep marks, and recorded cold',
    async (name) => {
      const file = readTraceFile(pathOf(name));
      const usual = await diagnose(pathOf(name), { jobs: 1 });
      const unmarked = withoutMarks(file);
      expect(unmarked.traceEvents.length).toBeLessThan(file.traceEvents.length);
      expectSameAnswer(await diagnosed(unmarked), usual);
      // Only launches are slow the first time.
      if (!file.traceEvents.some((e) => e.cat === 'kernel')) return;
      const cold = withColdStart(file, drawn(17));
      expect(cold.traceEvents.some((e) => (e.dur ?? 0) > 500_000)).toBe(true);
      // Whether the first step does not count is up to the marks or to what repeats.
      expectSameAnswer(await diagnosed(name.length % 2 === 0 ? cold : withoutMarks(cold)), usual);
    },
  );

  const RELATIONS: Readonly<Record<string, (file: TraceFile) => TraceFile>> = {
    'at another time': (file) => shifted(file, 1.79e15),
    'at negative times': (file) => shifted(file, -5e12),
    'with its events in random order': (file) => shuffled(file, drawn(5)),
    'with its events sorted by name': (file) =>
      reordered(file, (a, b) => (a.name ?? '').localeCompare(b.name ?? '')),
    'with other numbers for processes and threads': renamed,
    'with times as text': withTimesAsText,
    'without the calls of a pin thread': withoutPins,
  };
  const cases = ['h2d_pinned', 'infer_small', 'data_io_w0'].flatMap((name) =>
    Object.keys(RELATIONS).map((relation) => [name, relation] as const),
  );
  it.each(cases)('%s %s', async (name, relation) => {
    const usual = await diagnose(pathOf(name), { jobs: 1 });
    const changed = await diagnosed(RELATIONS[relation]!(readTraceFile(pathOf(name))));
    expectSameAnswer(changed, usual);
    expect(changed.verdict.confidence).toBeCloseTo(usual.verdict.confidence, 1);
    expect(changed.step.ms! / usual.step.ms!).toBeCloseTo(1, 2);
  });
});
