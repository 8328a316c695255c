import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readRun } from '../../src/ingest/run.js';
import { diagnose } from '../../src/library/diagnose.js';
import type { Report } from '../../src/report/report.js';
import { analyzeTrace } from '../../src/traces/analyze-trace.js';
import {
  readTraceFile,
  renamed,
  reordered,
  scaled,
  shifted,
  shuffled,
  type TraceFile,
  withColdStart,
  withoutMarks,
  withoutPins,
  withTimesAsText,
  withWaits,
} from '../helpers/relations.js';
import { Random } from '../helpers/simulate/random.js';
import { simulateRun, writeRun } from '../helpers/simulate/simulate.js';

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

const codesOf = ({ health }: Report) => health.problems.map(({ code, count }) => `${code} ${count}`).sort();

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
    // The order of events says nothing about their health.
    const isOrder = relation.includes('order') || relation.includes('sorted');
    if (isOrder) expect(codesOf(changed)).toEqual(codesOf(usual));
    expect(changed.step.ms! / usual.step.ms!).toBeCloseTo(1, 2);
  });
});

async function factsOf(file: TraceFile) {
  const path = join(folder, 'rank0.json');
  writeFileSync(path, JSON.stringify(file));
  return analyzeTrace((await readRun(path, { jobs: 1 })).traces[0]!.trace, { steps: null })!;
}

/** Bound by the host, by copies, by input, and by reads. Their GPU has nothing queued when a step begins. */
const LOOPS = ['infer_small', 'h2d_pageable', 'data_io_w0', 'd2h_logits'];

describe('a wait that is planted into every step', () => {
  const INPUT = 'enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__';

  it.each(LOOPS)(
    'of %s is found as input if a loader waits, else as time of the host, and lasts as long',
    async (name) => {
      const file = readTraceFile(pathOf(name));
      const usual = await factsOf(file);
      const planted = 2 * usual.steps.recorded;
      for (const [waitsFor, found] of [
        [INPUT, (t: typeof usual.time) => t.idle_data],
        [null, (t: typeof usual.time) => t.idle_host + t.idle_other + t.idle_data],
      ] as const) {
        const waiting = await factsOf(withWaits(file, planted / 1000, waitsFor));
        const longer = waiting.steps.recorded - usual.steps.recorded;
        // Work of the step before hides a part of it.
        expect(longer).toBeGreaterThan(0.45 * planted);
        expect(longer).toBeLessThan(1.01 * planted);
        const more = found(waiting.time) - found(usual.time);
        expect(Math.abs(more - longer) / longer).toBeLessThan(0.1);
        expect(waiting.time.compute / usual.time.compute).toBeCloseTo(1, 1);
      }
    },
  );

  it.each(LOOPS)('of %s makes it data-bound', async (name) => {
    const usual = await diagnose(pathOf(name), { jobs: 1 });
    const waits = withWaits(readTraceFile(pathOf(name)), 3000 * usual.step.profiled_ms!, INPUT);
    const { verdict } = await diagnosed(waits);
    expect(verdict.bottleneck).toBe('data');
    expect(verdict.confidence).toBeGreaterThanOrEqual(0.6);
  });
});

describe('a job in slow motion', () => {
  it.each(LOOPS)(
    '%s, with all times doubled or ten times as long, divides its steps as before',
    async (name) => {
      const file = readTraceFile(pathOf(name));
      const usual = await factsOf(file);
      for (const factor of [2, 10]) {
        const slow = await factsOf(scaled(file, factor));
        expect(slow.steps.count).toBe(usual.steps.count);
        expect(slow.steps.recorded / usual.steps.recorded).toBeCloseTo(factor, 3);
        expect(slow.gpu!.compute / usual.gpu!.compute).toBeCloseTo(factor, 3);
        // What a pause counts as depends on its length.
        for (const of of ['compute', 'copy'] as const)
          expect(slow.time[of] / slow.steps.recorded).toBeCloseTo(usual.time[of] / usual.steps.recorded, 2);
      }
      const [before, after] = [await diagnose(pathOf(name), { jobs: 1 }), await diagnosed(scaled(file, 2))];
      expect(after.verdict.bottleneck).toBe(before.verdict.bottleneck);
    },
  );
});

describe('a late rank', () => {
  it('is the same among 4, 8 and 16 ranks, and costs what was planted', async () => {
    for (const ranks of [4, 8, 16]) {
      const run = simulateRun({
        seed: 9,
        ranks,
        steps: 6,
        eventsPerStep: 40,
        fault: { kind: 'data', ranks: [2], size: 0.5 },
      });
      const { verdict, stragglers } = await diagnose(writeRun(run, join(folder, `${ranks}`)), { jobs: 1 });
      expect(verdict.bottleneck).toBe('data');
      expect(stragglers.map((s) => s.ranks)).toEqual([[2]]);
      expect(stragglers[0]!.cost_ms! / run.truth.costMs).toBeCloseTo(1, 1);
    }
  });
});
