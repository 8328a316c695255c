import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { diagnose } from '../../src/library/diagnose.js';
import { merge } from '../../src/library/rewrite.js';
import type { Report } from '../../src/report/report.js';
import { inFolder, root } from '../helpers/cli.js';
import { readTraceFile, type TraceEvent } from '../helpers/relations.js';

const RANKS = join(root, 'test/fixtures/zoo-ranks/straggler_host');
const files = readdirSync(RANKS)
  .filter((name) => name.startsWith('rank'))
  .sort();
const eventsOf = (change: (event: TraceEvent, rank: number) => TraceEvent | null) =>
  files.flatMap((name, rank) =>
    readTraceFile(join(RANKS, name)).traceEvents.flatMap((event) => change(event, rank) ?? []),
  );

const RANGE = 10_000_000;
const PROCESSES = ['process_name', 'process_sort_index', 'process_labels'];
/** As TraceFusion of TraceLens does: numbers of processes and calls far apart. */
const fused = (event: TraceEvent, rank: number): TraceEvent | null => {
  if (PROCESSES.includes(event.name ?? '') || event.cat === 'Trace') return null;
  const { correlation } = event.args ?? {};
  return {
    ...event,
    ...(typeof event.pid === 'number' ? { pid: event.pid + rank * RANGE } : {}),
    args: {
      ...event.args,
      rank,
      ...(typeof correlation === 'number' ? { correlation: correlation + rank * RANGE } : {}),
    },
  };
};
/** As SGLang does: the rank in front of the number of each process. */
const labeled = (event: TraceEvent, rank: number) => ({
  ...event,
  pid: `[TP${`${rank}`.padStart(2, '0')}-DP00] ${event.pid}`,
});

const usual = diagnose(RANKS, { jobs: 1 });
const ofEvents = (traceEvents: readonly TraceEvent[]): Promise<Report> =>
  inFolder(async (folder) => {
    const path = join(folder, 'merged.json');
    writeFileSync(path, JSON.stringify({ traceEvents }));
    return diagnose(path, { jobs: 1 });
  });

function expectSame(merged: Report, ranks: Report): void {
  expect(merged.verdict.bottleneck).toBe(ranks.verdict.bottleneck);
  expect(merged.verdict.headline).toBe(ranks.verdict.headline);
  expect(merged.findings[0]!.id).toBe(ranks.findings[0]!.id);
  expect(merged.step.ms!).toBeCloseTo(ranks.step.ms!, 1);
  expect(merged.ranks.map((r) => r.rank)).toEqual(ranks.ranks.map((r) => r.rank));
}

describe('a trace of all ranks gets the answer of the ranks', () => {
  it('merged by whyslow', () =>
    inFolder(async (folder) => {
      const out = join(folder, 'all.json.gz');
      await merge(RANKS, { out, steps: null, drop: [], force: false, jobs: 1 });
      expectSame(await diagnose(out, { jobs: 1 }), await usual);
    }));

  it('merged by SGLang, whose labels name the rank', async () =>
    expectSame(await ofEvents(eventsOf(labeled)), await usual));

  it('merged by TraceFusion, without names of processes', async () =>
    expectSame(await ofEvents(eventsOf(fused)), await usual));
});

describe('a trace of several processes', () => {
  it('is refused if they share the numbers of devices and calls: it cannot be known whose the GPU work is', () =>
    expect(ofEvents(eventsOf((event) => event))).rejects.toThrow(/several processes/));
});
