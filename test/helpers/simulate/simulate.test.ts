import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { analyzeEventLog } from '../../../src/logs/event-facts.js';
import { eventsReader } from '../../../src/readers/events/descriptor.js';
import { analyzeTrace } from '../../../src/traces/analyze-trace.js';
import { cpuTime } from '../cpu-time.js';
import { toEventLogs } from './event-logs.js';
import type { Fault, Parallelism } from './options.js';
import { simulateRun, writeRun } from './simulate.js';
import { readFile, seenCollectives } from './testing.js';

const KINDS: readonly Parallelism[] = ['ddp', 'fsdp', 'pipeline', 'mesh2d'];
const NO_NOISE = { noise: 0, gpuSpread: 0 };
const within = (value: number, wanted: number, share: number) =>
  Math.abs(value / wanted - 1) <= share ? 'near' : `${value} instead of ${wanted}`;

describe.each(KINDS)('%s', (parallelism) => {
  const base = { seed: 9, ranks: 8, ranksPerHost: 4, parallelism };
  const healthy = simulateRun(base);
  const quiet = simulateRun({ ...base, ...NO_NOISE });

  it('takes about as long as wanted', () => {
    expect(within(healthy.truth.stepMs, 50, 0.05)).toBe('near');
    expect(healthy.truth).toMatchObject({ costMs: 0, faults: [] });
    expect(within(simulateRun({ ...base, stepMs: 200, layers: 8 }).truth.stepMs, 200, 0.05)).toBe('near');
  });

  it('is read without problems, and every rank shows the true step', () => {
    for (const file of healthy.files) {
      const { trace, problems } = readFile(file);
      expect(problems).toEqual([]);
      expect(trace.data.header.distributed).toMatchObject({ rank: file.rank, worldSize: 8, backend: 'nccl' });
      expect(trace.links).toMatchObject({ workWithoutLaunch: 0, launchesWithoutWork: 0 });
      const facts = analyzeTrace(trace, { steps: null })!;
      expect(facts.steps).toMatchObject({ total: 8, count: 7, irregular: false, source: 'profiler' });
      expect(within(facts.steps.recorded / 1e6, healthy.truth.stepMs, 0.03)).toBe('near');
    }
  });

  it('ends collectives on all members at once, on a clock that all share', () => {
    const run = simulateRun({ ...base, clock: { offsetUsPerHost: 5000, driftPpm: 40 } });
    const seen = seenCollectives(run).filter((c) => c.kind !== 'send' && c.kind !== 'recv');
    const ends = new Map<string, typeof seen>();
    for (const c of seen)
      ends.set(`${c.group} ${c.sequence}`, [...(ends.get(`${c.group} ${c.sequence}`) ?? []), c]);
    const total = run.truth.collectives.filter((c) => c.kind !== 'send').length;
    expect(ends.size).toBe(total);
    for (const members of ends.values()) {
      expect(members.length).toBe(run.truth.groups.find((g) => g.name === members[0]!.group)!.ranks.length);
      const times = members.map((m) => m.endUs);
      // 0.6 µs inside a host, 2 between, and a ns of rounding.
      expect(Math.max(...times) - Math.min(...times)).toBeLessThan(2.6 + 0.01);
      expect(new Set(members.map((m) => `${m.kind} ${m.elements}`)).size).toBe(1);
    }
    const [near, far] = [run.truth.offsetsUs[0]!, run.truth.offsetsUs[4]!];
    expect([run.truth.offsetsUs[3], run.truth.offsetsUs[7]]).toEqual([near, far]);
    expect(Math.abs(near - far)).toBeGreaterThan(100);
  });

  it('depends on the seed, and on nothing else', () => {
    const again = simulateRun(base);
    expect(again.files[3]!.json).toBe(healthy.files[3]!.json);
    expect(simulateRun({ ...base, seed: 8 }).files[3]!.json).not.toBe(healthy.files[3]!.json);
  });

  it.each(['gpu', 'data', 'host', 'compile', 'gc'] as const)('%s: the step grows by the cost', (kind) => {
    const run = simulateRun({ ...base, ...NO_NOISE, fault: { kind, ranks: [2], size: 0.2 } });
    const { costMs, stepMs, healthyStepMs } = run.truth;
    expect(healthyStepMs).toBe(quiet.truth.stepMs);
    expect(costMs).toBeCloseTo(stepMs - healthyStepMs, 9);
    // In a pipeline the bubble takes a part of it.
    expect(costMs / 10).toBeGreaterThan(parallelism === 'pipeline' ? 0.3 : 0.97);
    expect(costMs / 10).toBeLessThan(1.03);
    const shown = [run, quiet].map((r) => analyzeTrace(readFile(r.files[5]!).trace, { steps: null })!);
    const grown = (shown[0]!.steps.recorded - shown[1]!.steps.recorded) / 1e6;
    expect(within(grown, costMs, 0.03)).toBe('near');
  });
});

describe('any number of ranks', () => {
  it.each(KINDS)('%s: hosts that are not full change nothing', (parallelism) => {
    for (const ranks of [2, 4, 6, 12, 36]) {
      expect(within(simulateRun({ seed: 1, ranks, parallelism }).truth.stepMs, 50, 0.1)).toBe('near');
    }
    expect(() => simulateRun({ seed: 1, ranks: 9, parallelism: 'pipeline' })).toThrow('9 ranks');
    expect(() => simulateRun({ seed: 1, ranks: 4, fault: { kind: 'gpu', ranks: [4], size: 1 } })).toThrow(
      'rank 4',
    );
  });
});

describe('faults', () => {
  const base = { seed: 3, ranks: 8, ...NO_NOISE };
  const classes = (fault: Fault, rank: number) => {
    const facts = analyzeTrace(readFile(simulateRun({ ...base, fault }).files[rank]!).trace, {
      steps: null,
    })!;
    return facts.time;
  };

  it.each([
    ['data', 'idle_data'],
    ['host', 'idle_host'],
    ['compile', 'idle_compile'],
    ['gc', 'idle_host'],
    ['gpu', 'compute'],
  ] as const)('%s shows as %s on the late rank only', (kind, time) => {
    const fault: Fault = { kind, ranks: [5], size: 0.2 };
    expect((classes(fault, 5)[time] - classes(fault, 1)[time]) / 1e6).toBeCloseTo(10, 0);
  });

  it('a slow link makes no rank late', () => {
    const fault: Fault = { kind: 'link', ranks: [1], size: 0.4 };
    const run = simulateRun({ ...base, parallelism: 'mesh2d', fault });
    const same = simulateRun({ ...base, parallelism: 'mesh2d' });
    const { group, steps } = run.truth.faults[0]!;
    expect(steps.every((s) => s.late.length === 0)).toBe(true);
    expect(run.truth.groups.find((g) => g.name === group)).toMatchObject({ axis: 'dp' });
    expect(run.truth.costMs).toBeGreaterThan(1);
    const slow = run.truth.collectives.filter((c) => c.group === group);
    expect(slow.length).toBe(32);
    for (const c of slow) {
      const healthy = same.truth.collectives[run.truth.collectives.indexOf(c)]!;
      // 20 ms over four transfers.
      expect(c.transferUs - healthy.transferUs).toBeCloseTo(5000, 3);
      expect(Math.max(...c.starts) - Math.min(...c.starts)).toBeLessThan(50);
    }
  });

  it('patterns hit the steps they should', () => {
    const stepsOf = (fault: Fault) =>
      simulateRun({ ...base, fault }).truth.faults[0]!.steps.map((s) => s.step);
    expect(stepsOf({ kind: 'gc', ranks: [1], size: 0.3, pattern: 'spike', at: 5 })).toEqual([5]);
    expect(stepsOf({ kind: 'gc', ranks: [1], size: 0.3, pattern: 'periodic', period: 3 })).toEqual([2, 5]);
    const spike = simulateRun({ ...base, fault: { kind: 'gc', ranks: [1], size: 0.3, pattern: 'spike' } });
    const extra = spike.truth.stepsMs.map((ms, i) => (ms - spike.truth.healthyStepsMs[i]!).toFixed(0));
    expect(extra.join(' ').replaceAll('-0', '0')).toBe('0 0 0 15 0 0 0');
    const rotating = simulateRun({ ...base, fault: { kind: 'rotating', ranks: [], size: 0.2 } }).truth;
    const late = rotating.faults[0]!.steps.map((s) => s.late);
    expect(late.flat().sort()).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    // A late optimizer step hides in the next step, where another rank is late.
    expect(rotating.costMs).toBeGreaterThan(9);
  });

  it('a host that runs ahead hides late data', () => {
    const fault: Fault = { kind: 'data', ranks: [5], size: 0.2 };
    expect(simulateRun({ ...base, fault, syncEvery: 0 }).truth.costMs).toBeLessThan(1);
    expect(simulateRun({ ...base, fault, syncEvery: 1 }).truth.costMs).toBeGreaterThan(9);
  });
});

describe('what is recorded', () => {
  it('may be a part of the ranks, without sequence numbers', () => {
    const run = simulateRun({ seed: 1, ranks: 8, missingRanks: [0, 6], withoutSeq: true });
    expect(run.files.map((f) => f.rank)).toEqual([1, 2, 3, 4, 5, 7]);
    const { collectives } = readFile(run.files[0]!).trace.data;
    expect(collectives.sequence.every((s) => Number.isNaN(s))).toBe(true);
    expect(collectives.row.length).toBeGreaterThan(0);
  });

  it('profilers that start at different times see a long first collective, then usual steps', () => {
    const run = simulateRun({ seed: 1, ranks: 8, startSkewMs: 400, ...NO_NOISE });
    const seen = seenCollectives(run);
    const first = seen.filter((c) => c.sequence === seen[0]!.sequence);
    expect(first.length).toBe(8);
    expect(Math.max(...first.map((c) => c.endUs - c.startUs))).toBeGreaterThan(200_000);
    expect(
      within(run.truth.stepMs, simulateRun({ seed: 1, ranks: 8, ...NO_NOISE }).truth.stepMs, 0.001),
    ).toBe('near');
  });

  it('messages carry their peers and the counter of their rank', () => {
    const run = simulateRun({ seed: 1, ranks: 8, parallelism: 'pipeline' });
    const sent = run.truth.collectives.filter((c) => c.kind === 'send');
    const seen = seenCollectives(run);
    expect(seen.filter((c) => c.kind === 'send').length).toBe(sent.length);
    expect(seen.filter((c) => c.kind === 'recv').length).toBe(sent.length);
    const onFirst = seen.filter((c) => c.rank === 0 && c.peer !== null);
    expect(onFirst.map((c) => c.sequence)).toEqual(onFirst.map((_, i) => onFirst[0]!.sequence + i));
    expect(new Set(onFirst.map((c) => c.peer))).toEqual(new Set([2]));
  });

  it('large groups are shortened in arguments, whole in the header', () => {
    const run = simulateRun({ seed: 1, ranks: 64, steps: 3, eventsPerStep: 60 });
    const { trace } = readFile(run.files[63]!);
    expect(trace.data.header.distributed!.groups[0]!.ranks.length).toBe(64);
    expect(trace.strings.text(trace.data.collectives.groupRanks[0]!)).toMatch(/ 28, \.\.\., 63]$/);
  });

  it('event logs show the same times', () => {
    const run = simulateRun({ seed: 4, ranks: 8, fault: { kind: 'data', ranks: [6], size: 0.2 } });
    for (const { rank, text } of toEventLogs(run)) {
      const reader = eventsReader.create({});
      reader.push(Buffer.from(text));
      const result = reader.finish();
      expect(result.problems).toEqual([]);
      const [facts] = analyzeEventLog(result.log);
      expect(within(facts!.step / 1e6, run.truth.stepMs, 0.03)).toBe('near');
      if (rank === 6) expect(facts!.time.idle_data / 1e6).toBeGreaterThan(9);
    }
  });

  it('is written as files', () => {
    const directory = mkdtempSync(join(tmpdir(), 'simulate-'));
    try {
      const run = simulateRun({ seed: 1, ranks: 2, steps: 3 });
      const paths = writeRun(run, directory);
      expect(paths.map((p) => p.slice(directory.length + 1))).toEqual(['rank-0.json.gz', 'rank-1.json.gz']);
      expect(gunzipSync(readFileSync(paths[1]!)).toString()).toBe(run.files[1]!.json);
    } finally {
      rmSync(directory, { recursive: true });
    }
  });

  it('hundreds of ranks take seconds', () => {
    const started = cpuTime();
    const run = simulateRun({ seed: 1, ranks: 512, parallelism: 'fsdp', eventsPerStep: 40 });
    const bytes = run.files.reduce((n, f) => n + f.json.length, 0);
    expect(bytes).toBeGreaterThan(50e6);
    expect(cpuTime() - started).toBeLessThan(20_000);
  });
});
