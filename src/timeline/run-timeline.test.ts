import { describe, expect, it } from 'vitest';
import { EmbeddedSource } from '../drawing/embedded.js';
import type { TimelineSource } from '../drawing/timeline.js';
import { sumOfClasses, TIME_CLASSES, type TimeByClass, totals } from '../facts/time-class.js';
import { diagnoseInFull } from '../library/diagnose.js';
import { openRun } from '../library/open-run.js';
import { diagnoseForPage } from '../library/page.js';
import { bytesOf, RecentRanks } from './run-timeline.js';

const HOST_BOUND = 'zoo/clean/new/accum_one';
const DATA_BOUND = 'zoo/fixtures/data_io_w0';
const RANKS = 'test/fixtures/zoo-ranks/straggler_gpu';

const sources: readonly (readonly [string, (path: string) => Promise<TimelineSource>])[] = [
  ['whyslow open', async (path) => (await openRun([path], null)).timeline!],
  ['the file', async (path) => new EmbeddedSource((await diagnoseForPage(path, null)).timeline!)],
];

/** Communication with the waiting in it: only ranks together tell the two apart. */
const joined = (time: TimeByClass): TimeByClass =>
  totals((c) => {
    if (c === 'comms_wait') return 0;
    return c === 'comms_transfer' ? time.comms_transfer + time.comms_wait : time[c];
  });

describe.each(sources)('the timeline of %s', (_, open) => {
  it.each([HOST_BOUND, DATA_BOUND, 'zoo/fixtures/cpu_only'])(
    'has the figures of the report for each step: %s',
    async (path) => {
      const { diagnosis } = await diagnoseInFull(path);
      const [view] = diagnosis.views;
      if (view?.source !== 'trace') throw new Error('no trace');
      const timeline = await open(path);
      const { ranks } = await timeline.tracks();
      const { timePerStep, steps } = view.facts;
      for (const [i, number] of steps.indices.entries()) {
        const step = ranks[0]!.steps.find((s) => s.number === number)!;
        const { time } = await timeline.totals({ rank: ranks[0]!.rank, from: step.from, to: step.to });
        for (const c of TIME_CLASSES)
          expect(time[c], `step ${number} ${c}`).toBeCloseTo(timePerStep[i]![c], -1);
      }
    },
  );

  it('the timeline separates waiting for ranks from transfer as the report does', async () => {
    const { diagnosis } = await diagnoseInFull(RANKS);
    const timeline = await open(RANKS);
    const { ranks } = await timeline.tracks();
    expect(ranks.map((r) => [r.rank, r.late])).toEqual([
      [0, false],
      [1, true],
      [2, false],
      [3, false],
    ]);
    for (const { rank, facts } of diagnosis.views) {
      const line = ranks.find((r) => r.rank === rank)!;
      const waited: number[] = [];
      for (const [i, number] of facts.steps.indices.entries()) {
        const step = line.steps.find((s) => s.number === number)!;
        const { time } = await timeline.totals({ rank, from: step.from, to: step.to });
        const own = facts.timePerStep[i]!;
        // Waiting is taken from transfers and from the host's waits for collectives.
        expect(sumOfClasses(time)).toBeCloseTo(sumOfClasses(own), -2);
        expect(time.compute).toBeCloseTo(own.compute, -2);
        expect(joined(time).comms_transfer + time.idle_comms).toBeCloseTo(
          own.comms_transfer + own.idle_comms,
          -2,
        );
        waited.push(time.comms_wait);
      }
      const share = diagnosis.comparison!.waitShare.get(rank)!;
      const exposed = facts.time.comms_transfer + facts.time.idle_comms;
      const mean = waited.reduce((sum, w) => sum + w, 0) / waited.length;
      // The report has one share for all steps, also those at the ends of the recording.
      expect(Math.abs(mean - share * exposed)).toBeLessThan(0.1 * exposed);
    }
  });

  it('lays all ranks on one clock: a collective ends on all of them at once', async () => {
    const timeline = await open(RANKS);
    const { ranks } = await timeline.tracks();
    const ends: number[][] = [];
    for (const { rank, from, to } of ranks) {
      const tracks = await timeline.open(rank);
      const track = tracks.findIndex((t) => t.kind === 'collectives');
      const { length, end, name, names } = await timeline.slices({ rank, track, from, to, width: 1e6 });
      ends.push(
        Array.from({ length }, (_, i) => i)
          .filter((i) => !names[name[i]!]!.startsWith('wait'))
          .map((i) => end[i]!),
      );
    }
    const last = ends.map((e) => e.at(-1)!);
    expect(Math.max(...last) - Math.min(...last)).toBeLessThan(2e6);
  });

  it('leads from the late rank to those that wait, along the critical path', async () => {
    const timeline = await open(RANKS);
    const { ranks, from, to } = await timeline.tracks();
    const { arrows, path } = await timeline.arrows({ from, to, ranks: ranks.map((r) => r.rank) });
    const late = arrows.filter((a) => a.kind === 'late');
    // The longest waits come first.
    expect(new Set(late.slice(0, 10).map((a) => a.from.rank))).toEqual(new Set([1]));
    expect(late.every((a) => a.from.rank !== a.to.rank)).toBe(true);
    const onPath = (rank: number) =>
      path.filter((p) => p.rank === rank).reduce((sum, p) => sum + p.to - p.from, 0);
    expect(onPath(1)).toBeGreaterThan(onPath(0));
    expect(path.every((p) => p.to > p.from)).toBe(true);
  });

  it('finds kernels and the calls that launched them', async () => {
    const timeline = await open(DATA_BOUND);
    // The launch of the first ones is before the recording.
    const hit = (await timeline.search('BATCH_NORM_backward_kernel', 20, [0])).at(-1);
    expect(hit!.name).toContain('batch_norm_backward');
    const { related } = await timeline.detail(hit!);
    expect(related.map((r) => r.label)).toEqual(['Launched by']);
    expect(related[0]!.name).toBe('cudaLaunchKernel');
    expect(related[0]!.start).toBeLessThan(hit!.start);
    const launched = await timeline.detail(related[0]!);
    expect(launched.related.map((r) => r.name)).toEqual([hit!.name]);
    expect(await timeline.search('no such kernel', 3, [0])).toEqual([]);
  });

  it('refuses what does not exist', async () => {
    const timeline = await open(DATA_BOUND);
    const nowhere = { rank: 0, track: 0, row: 0, index: 1e9 };
    await expect(timeline.detail(nowhere)).rejects.toThrow('no such slice');
    await expect((async () => timeline.open(7))()).rejects.toThrow('no such rank');
    await expect(timeline.slices({ rank: 0, track: 99, from: 0, to: 1, width: 1 })).rejects.toThrow(
      'no such track',
    );
  });
});

it('reads ranks when they are looked at, if they do not fit into memory', async () => {
  const [roomy, small] = await Promise.all([openRun([RANKS], null), openRun([RANKS], null, {}, 1)]);
  for (const rank of [0, 3, 0]) {
    const step = (await small.timeline!.tracks()).ranks[rank]!.steps[4]!;
    const query = { rank, from: step.from, to: step.to };
    expect(await small.timeline!.totals(query)).toEqual(await roomy.timeline!.totals(query));
    expect(await small.timeline!.open(rank)).toEqual(await roomy.timeline!.open(rank));
  }
});

it('keeps ranks up to the limit; the one not asked for the longest goes first', async () => {
  const read: number[] = [];
  const ranks = new RecentRanks(250, async (rank) => {
    read.push(rank);
    return { value: `rank ${rank}`, bytes: 100 };
  });
  expect(await Promise.all([ranks.get(0), ranks.get(0), ranks.get(1)])).toEqual([
    'rank 0',
    'rank 0',
    'rank 1',
  ]);
  expect(read).toEqual([0, 1]);
  await ranks.get(0);
  await ranks.get(2);
  expect(ranks.hasRoom).toBe(true);
  await ranks.get(0);
  expect(read).toEqual([0, 1, 2]);
  await ranks.get(1);
  expect(read).toEqual([0, 1, 2, 1]);
});

it('keeps a rank that is larger than the limit while it is looked at, and forgets failures', async () => {
  let fails = true;
  const ranks = new RecentRanks(10, async () => {
    if (fails) throw new Error('gone');
    return { value: 'large', bytes: 1000 };
  });
  await expect(ranks.get(0)).rejects.toThrow('gone');
  fails = false;
  expect(await ranks.get(0)).toBe('large');
  expect(await ranks.get(0)).toBe('large');
});

it('counts the memory of columns at any depth', () => {
  expect(bytesOf({ a: new Float64Array(4), b: [{ c: new Uint8Array(3) }, null], d: 'text' })).toBe(35);
});
