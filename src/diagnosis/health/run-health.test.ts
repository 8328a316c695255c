import { describe, expect, it } from 'vitest';
import { cpuTime } from '../../../test/helpers/cpu-time.js';
import { drawView, H200 } from '../../../test/helpers/draw-run.js';
import { drawTrace, steps } from '../../../test/helpers/draw-trace.js';
import { loggedView } from '../../../test/helpers/logged-view.js';
import { compareRanks } from '../../run/compare.js';
import { checkTrace } from '../../traces/checks/trace-checks.js';
import type { RankView } from '../ranks/rank-view.js';
import type { RankWindow } from './run-health.js';
import { runHealth, summarizeHealth } from './run-health.js';

const drawn = drawView(
  steps(4, 1000, 'host 1  ProfilerStep#1 0-1000 | cudaLaunchKernel 10-20 #1\n gpu 7  gemm 30-900 #1'),
);
const healthOf = (...views: readonly RankView[]) =>
  runHealth({
    inputs: { problems: [], beside: [], members: [] } as never,
    members: [],
    views,
    locations: { problems: [], worldSize: null } as never,
    comparison: compareRanks([]),
  }).with([]);

it('collectives that did not fit are a problem of their rank', () => {
  const collectives = { length: 1000, leftOut: 7 } as RankView['facts']['collectives'];
  const view = { ...drawn, facts: { ...drawn.facts, collectives } } as RankView;
  expect(healthOf(view).problems).toMatchObject([
    {
      code: 'collectives-left-out',
      severity: 'warning',
      count: 7,
      ranks: [0],
      message: '7 collectives beyond the first 1000 were left out',
    },
  ]);
  expect(healthOf(drawn).problems).toEqual([]);
});

it('ranks without a trace say so where others have one', () => {
  const logged = { ...loggedView({ compute: 8, idle_host: 2 }), rank: 1 };
  expect(healthOf(drawn, logged, { ...logged, rank: 2 }).problems).toMatchObject([
    { code: 'divided-by-log', severity: 'note', ranks: [1, 2] },
  ]);
  expect(healthOf(logged).problems).toEqual([]);
});

const codes = (drawing: string, header = {}) => checkTrace(drawTrace(drawing, header)).map((p) => p.code);

/** Two steps, two kernels each, all launched in the window. */
const HEALTHY = `
  host 1  ProfilerStep#3 0-100 | cudaLaunchKernel 10-12 #1 | cudaLaunchKernel 20-22 #2
  host 1  ProfilerStep#4 100-200 | cudaLaunchKernel 110-112 #3 | cudaLaunchKernel 120-122 #4
  gpu 7   gemm 15-60 #1 | relu 61-90 #2 | gemm 115-160 #3 | relu 161-190 #4`;
const ONE_RANK = { ranks: [0], worldSize: null };
const without = (text: string) => HEALTHY.replace(text, '');

describe('checks of a trace', () => {
  it('finds nothing in a healthy trace', () => expect(codes(HEALTHY)).toEqual([]));

  it.each([
    ['no-gpu-work', HEALTHY.split('\n').slice(0, 3).join('\n'), {}],
    ['no-steps', HEALTHY.replace(/ProfilerStep#\d/g, 'train'), {}],
    ['short-window', HEALTHY.replace('ProfilerStep#4', 'train'), {}],
    ['cut-last-step', without('| cudaLaunchKernel 120-122 #4').replace('| relu 161-190 #4', ''), {}],
    ['gpu-work-without-launch', HEALTHY.replace('relu 161-190 #4', 'relu 161-190 #9'), {}],
    ['no-launches', HEALTHY.replaceAll('cudaLaunchKernel', 'aten::mm'), {}],
    ['launch-without-gpu-work', without('| relu 161-190 #4'), {}],
    ['compile-in-window', `${HEALTHY}\nhost 1  cuModuleLoadData 130-140 #50`, {}],
    ['compile-in-window', `${HEALTHY}\nhost 1  _compile.compile_inner (dynamo_timed) 130-140`, {}],
    ['with-stack', `${HEALTHY}\nhost 1  train.py(3): step 130-140`, {}],
    ['with-stack', HEALTHY, { with_stack: 1 }],
    ['slow-switches', HEALTHY, { record_shapes: 1 }],
    ['overlapping-spans', `${HEALTHY}\nhost 1  aten::a 130-140 | aten::b 135-150`, {}],
    ['overlapping-spans', `${HEALTHY}\ngpu 9  k 130-140 #1 | k 135-150 #1`, {}],
    ['negative-duration', `${HEALTHY}\nhost 1  aten::a 30-20`, {}],
    ['zero-duration', `${HEALTHY}\ngpu 8  relu 30-30 #1`, {}],
  ])('finds %s', (code, drawing, header) => {
    expect(codes(drawing, header)).toContain(code);
  });

  const severityOf = (code: string, drawing: string, header = {}) =>
    checkTrace(drawTrace(drawing, header)).find((p) => p.code === code)?.severity;

  it('takes a machine without GPUs as it is', () => {
    const cpu = steps(3, 1000, '  host 1  ProfilerStep#1 0-1000 | aten::mm 10-900');
    expect(severityOf('no-gpu-work', cpu)).toBe('note');
    expect(severityOf('no-gpu-work', cpu, H200)).toBe('warning');
    expect(severityOf('no-gpu-work', cpu, { cuda_driver_version: 13000 })).toBe('warning');
  });

  it('does not deny steps that the optimizer marks', () => {
    const step = '  host 1  aten::mm 10-400 | Optimizer.step#SGD.step 500-600';
    const consequence = (drawing: string) =>
      checkTrace(drawTrace(drawing)).find((p) => p.code === 'no-steps')?.consequence;
    expect(consequence(steps(3, 1000, step))).toMatch(/^less exact/);
    expect(consequence(step)).toMatch(/whole window/);
  });

  it('gives the grade of the worst problem', () => {
    const perRank = (drawing: string) => [{ rank: 0, problems: checkTrace(drawTrace(drawing)) }];
    expect(summarizeHealth(perRank(HEALTHY), [], [], ONE_RANK).grade).toBe('good');
    expect(summarizeHealth(perRank(HEALTHY.replace('ProfilerStep#4', 'train')), [], [], ONE_RANK).grade).toBe(
      'usable',
    );
    const noDevice = HEALTHY.split('\n').slice(0, 3).join('\n');
    expect(summarizeHealth(perRank(noDevice), [], [], ONE_RANK).grade).toBe('poor');
  });
});

describe('checks across ranks', () => {
  const window = (rank: number, startMs: number, more: Partial<RankWindow> = {}): RankWindow => {
    const start = 1_790_000_000_000_000_000n + BigInt(startMs) * 1_000_000n;
    return { group: '', rank, startNs: start, endNs: start + 500_000_000n, ...more };
  };
  const found = (windows: readonly RankWindow[], worldSize = 2) => {
    const seen = { ranks: windows.map((w) => w.rank), worldSize };
    return summarizeHealth([], [], windows, seen).problems.map((p) => p.code);
  };

  it.each([
    ['nothing when they start together', [window(0, 0), window(1, 20)], []],
    ['profilers that start apart', [window(0, 0), window(1, 300)], ['start-skew']],
    ['traces of different times', [window(0, 0), window(1, 9000)], ['disjoint-windows']],
    [
      'nothing for windows of different steps',
      [window(0, 0), window(1, 0), window(0, 9000, { group: '20' })],
      [],
    ],
    ['nothing when the time is unknown', [window(0, 0, { startNs: null }), window(1, 9000)], []],
  ])('%s', (_, windows, expected) => {
    expect(found(windows)).toEqual(expected);
  });

  it('finds ranks that are missing', () => {
    expect(found([window(0, 0)], 8)).toEqual(['missing-ranks']);
  });

  it('joins the same problem on several ranks', () => {
    const problems = checkTrace(drawTrace(HEALTHY, { record_shapes: 1 }));
    const health = summarizeHealth(
      [0, 1, 2].map((rank) => ({ rank, problems })),
      [],
      [],
      { ranks: [0, 1, 2], worldSize: 3 },
    );
    expect(health.problems).toMatchObject([{ code: 'slow-switches', count: 3, ranks: [0, 1, 2] }]);
  });

  it('joins a problem of very many ranks in little time', () => {
    const problems = checkTrace(drawTrace(HEALTHY, { record_shapes: 1 }));
    const ranks = Array.from({ length: 30_000 }, (_, rank) => rank);
    const perRank = ranks.map((rank) => ({ rank, problems }));
    const windows = ranks.map((rank) => window(rank, rank % 3));
    const from = cpuTime();
    const health = summarizeHealth(perRank, [], windows, { ranks, worldSize: ranks.length });
    // Copying the list of ranks for each of them took 48 s.
    expect(cpuTime() - from).toBeLessThan(2000);
    expect(health.problems).toMatchObject([{ code: 'slow-switches', count: 30_000, ranks }]);
  });
});
