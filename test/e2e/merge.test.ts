import { copyFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { groupBy } from '../../src/base/group-by.js';
import { merge } from '../../src/library/rewrite.js';
import { inFolder, root, whyslow } from '../helpers/cli.js';
import { writeCapture } from '../helpers/simulate/capture-files.js';
import { simulateRun } from '../helpers/simulate/simulate.js';
import { type ChromeEvent, type ChromeTrace, faultsOf, readChrome } from '../helpers/strict-chrome.js';

const RANKS = join(root, 'test/fixtures/zoo-ranks/straggler_host');
const ALL = { steps: null, drop: [], force: false, jobs: 1 } as const;
const merged = (paths: string, more: object = {}): Promise<ChromeTrace> =>
  inFolder(async (folder) => {
    await merge(paths, { ...ALL, out: join(folder, 'all.json.gz'), ...more });
    return readChrome(join(folder, 'all.json.gz'));
  });
const simulated = (
  options: Partial<Parameters<typeof simulateRun>[0]>,
  use: (folder: string) => Promise<void>,
) =>
  inFolder(async (folder) => {
    const base = {
      seed: 7,
      ranks: 4,
      ranksPerHost: 2,
      steps: 5,
      eventsPerStep: 100,
      parallelism: 'ddp',
    } as const;
    writeCapture(simulateRun({ ...base, ...options }), folder, { traces: true });
    await use(folder);
  });

/** Read by two tests. */
let ofRanks: Promise<ChromeTrace> | undefined;
const mergedRanks = () => {
  ofRanks ??= merged(RANKS);
  return ofRanks;
};

const arrowsOf = ({ events }: ChromeTrace) =>
  groupBy(
    events.filter((e) => e.cat === 'collective'),
    (e) => `${e.name} ${e.id}`,
  );
const processesOf = ({ events }: ChromeTrace) =>
  new Map(events.flatMap((e) => (e.name === 'process_name' ? [[e.pid, String(e.args!.name)] as const] : [])));
/** The slice that an arrow touches. */
const sliceOf = (trace: ChromeTrace, at: ChromeEvent) =>
  trace.events.find(
    (e) =>
      e.ph === 'X' && e.pid === at.pid && e.tid === at.tid && e.ts! <= at.ts! && at.ts! <= e.ts! + e.dur!,
  )!;

describe('a merged trace', () => {
  it('a merged trace has every rank under its own name, and no two share a process or an id', async () => {
    const trace = await mergedRanks();
    expect(faultsOf(trace)).toEqual([]);
    const names = [...processesOf(trace).values()];
    expect(names).toEqual(expect.arrayContaining(['rank 0 · CPU', 'rank 3 · CPU', 'rank 2 · GPU 0']));
    expect(new Set(names).size).toBe(names.length);
    // Every slice of the ranks is there.
    const slices = readdirSync(RANKS)
      .filter((f) => f.endsWith('.gz'))
      .map((f) => {
        const text = gunzipSync(readFileSync(join(RANKS, f))).toString();
        return (JSON.parse(text) as { traceEvents: ChromeEvent[] }).traceEvents.filter((e) => e.ph === 'X')
          .length;
      });
    expect(trace.events.filter((e) => e.ph === 'X')).toHaveLength(slices.reduce((a, b) => a + b));
  });

  it('a merged trace has an arrow for each collective, from the first rank to the last', async () => {
    const trace = await mergedRanks();
    const processes = processesOf(trace);
    const arrows = [...arrowsOf(trace).values()];
    expect(arrows.length).toBeGreaterThanOrEqual(18);
    for (const arrow of arrows) {
      const inOrder = arrow.toSorted((a, b) => 'stf'.indexOf(a.ph) - 'stf'.indexOf(b.ph));
      expect(inOrder.map((e) => e.ph)).toEqual(['s', 't', 't', 'f']);
      expect(new Set(arrow.map((e) => processes.get(e.pid)!.slice(0, 6))).size).toBe(4);
      expect(arrow.every((e) => sliceOf(trace, e).name!.startsWith('gloo:'))).toBe(true);
    }
  });

  it('puts ranks of several hosts on one clock', () =>
    simulated({ clock: { offsetUsPerHost: 50_000 } }, async (folder) => {
      const trace = await merged(folder);
      expect(faultsOf(trace)).toEqual([]);
      expect([...processesOf(trace).values()]).toEqual(
        expect.arrayContaining([
          expect.stringMatching(/^rank 0 · node-0 · /),
          expect.stringMatching(/^rank 3 · node-1 · /),
        ]),
      );
      const arrows = [...arrowsOf(trace).values()];
      expect(arrows.length).toBeGreaterThan(10);
      for (const arrow of arrows) {
        const slices = arrow.map((e) => sliceOf(trace, e));
        const ends = slices.map((s) => s.ts! + s.dur!);
        // All-reduces end together; the clocks of the hosts were up to 100 ms apart.
        expect(Math.max(...ends) - Math.min(...ends)).toBeLessThan(100);
        const starts = ['s', 'f'].map((ph) => arrow.find((e) => e.ph === ph)!.ts!);
        expect(starts[0]).toBeLessThanOrEqual(starts[1]!);
      }
    }));

  it.each(['fsdp', 'pipeline', 'mesh2d'] as const)(
    'a merged trace has whole arrows for %s too',
    (parallelism) =>
      simulated({ parallelism, stages: 2, tensorParallel: 2 }, async (folder) => {
        const trace = await merged(folder);
        expect(faultsOf(trace)).toEqual([]);
        expect(arrowsOf(trace).size).toBeGreaterThan(5);
      }),
  );

  it('a merged trace has the chosen steps and ranks, and only arrows between slices that are there', () =>
    simulated({ parallelism: 'fsdp' }, async (folder) => {
      const trace = await merged(folder, { steps: { first: 3, last: 3 }, ranks: [0, 1], drop: ['cpu_op'] });
      expect(faultsOf(trace)).toEqual([]);
      expect(arrowsOf(trace).size).toBeGreaterThan(2);
      const steps = new Set(
        trace.events.flatMap((e) => (e.name?.startsWith('ProfilerStep') && e.ph === 'X' ? [e.name] : [])),
      );
      expect([...steps].sort()).toEqual(['ProfilerStep#2', 'ProfilerStep#3']);
      expect([...processesOf(trace).values()].some((name) => /^rank [23]/.test(name))).toBe(false);
      const without = await merged(folder, { drop: ['kernel'] });
      expect(faultsOf(without)).toEqual([]);
      expect(arrowsOf(without).size).toBe(0);
    }));

  it('survives a cut trace among others', () =>
    inFolder(async (folder) => {
      for (const f of readdirSync(RANKS).filter((name) => name.endsWith('.gz')))
        copyFileSync(join(RANKS, f), join(folder, f));
      const text = gunzipSync(readFileSync(join(folder, 'rank1.json.gz')));
      writeFileSync(
        join(folder, 'rank1.json.gz'),
        gzipSync(text.subarray(0, text.length * 0.7)).subarray(0, -50),
      );
      const trace = await merged(folder);
      expect(faultsOf(trace)).toEqual([]);
    }));
});

describe('whyslow merge', () => {
  it('says what it wrote, and which clocks are not aligned', () =>
    inFolder(async (folder) => {
      const out = join(folder, 'all.json.gz');
      const two = ['data_io_w0', 'cpu_only'].map((name) => join(root, 'zoo/fixtures', name, 'rank0.json.gz'));
      for (const [rank, file] of two.entries()) copyFileSync(file, join(folder, `rank${rank}.json.gz`));
      const done = await whyslow(['merge', folder, '-o', out]);
      expect(done.code).toBe(0);
      expect(done.stdout).toMatch(/all\.json\.gz: 2 ranks, \d+ events, \S+ MB of JSON\n$/);
      expect(done.stderr).toBe(
        'whyslow: ranks 0–1: no collectives shared with the other ranks; times are as recorded\n',
      );
      expect(faultsOf(readChrome(out))).toEqual([]);
      const again = await whyslow(['merge', two[0]!, '-o', out]);
      expect(again).toMatchObject({
        code: 2,
        stderr: expect.stringMatching(/exists; --force replaces it\n$/) as string,
      });
      const own = await whyslow(['merge', folder, '-o', join(folder, 'rank1.json.gz'), '--force']);
      expect(own.stderr).toMatch(/rank1\.json\.gz is one of the files to read: choose another name\n$/);
      const late = await whyslow(['merge', RANKS, '-o', join(folder, 'n.json'), '--steps', '70']);
      expect(late.stderr).toMatch(
        /^whyslow: nothing to merge: .*rank0\.json\.gz: none of these steps was.*\n$/,
      );
      const none = await whyslow(['merge', join(root, 'test/fixtures/nsys'), '-o', join(folder, 'n.json')]);
      expect(none).toMatchObject({
        code: 2,
        stderr: 'whyslow: there are no PyTorch profiler traces to merge\n',
      });
      expect(readdirSync(folder).sort()).toEqual(['all.json.gz', 'rank0.json.gz', 'rank1.json.gz']);
    }));
});
