import { describe, expect, it } from 'vitest';
import { rankFromPath } from '../sources/rank-name.js';
import { keepOneWindow } from './one-window.js';
import type { RankedInput } from './ranks.js';
import type { RunInputs } from './read-run.js';

const trace = (
  path: string,
  rank: number,
  window: string,
  startNs: bigint | null,
  facts: object | null = { hasGpuWork: true },
  steps = 1,
) =>
  ({
    rank,
    rankSource: 'file',
    hasEarlierWindow: false,
    of: 'trace',
    kind: 'kineto',
    path,
    hints: rankFromPath(path),
    identity: { window },
    facts,
    summary: {
      process: { pid: '7' },
      window: { startNs, endNs: startNs },
      steps: Array.from({ length: steps }, (_, i) => ({ index: Number.parseInt(window, 10) + i })),
    },
  }) as unknown as RankedInput;
const log = (rank: number) =>
  ({ rank, rankSource: 'file', hasEarlierWindow: false, of: 'log', path: `log${rank}` }) as RankedInput;
const inputs = (members: readonly RankedInput[]) =>
  ({ members, problems: [], beside: [], runs: [] }) as unknown as RunInputs;
function kept(...members: readonly RankedInput[]) {
  const run = keepOneWindow(inputs(members));
  return {
    files: run.members.map((m) => `${m.path}${m.hasEarlierWindow ? ' (later)' : ''}`),
    problems: run.problems.map((p) => `${p.message}; ${p.consequence}`),
  };
}

describe('keepOneWindow', () => {
  it('keeps the newest window of a process, and the log', () => {
    expect(kept(trace('b', 0, '10-12', 900n), trace('a', 0, '2-4', 100n), log(0))).toEqual({
      files: ['b (later)', 'log0'],
      problems: [
        'rank 0 recorded 2 windows; only the one of steps 10-12 was analyzed; pass the path of another trace to analyze that',
      ],
    });
  });

  it('goes by steps where the time is not known, and by the folder where it has a step', () => {
    const folder = (step: number) => trace(`traces/step_${step}/rank-0-coord-0-trace.json`, 0, '', null);
    expect(kept(folder(17), folder(117)).files).toEqual([
      'traces/step_117/rank-0-coord-0-trace.json (later)',
    ]);
    expect(kept(trace('a', 0, '2-4', null), trace('b', 0, '10-12', null)).files).toEqual(['b (later)']);
  });

  it('prefers the window that most ranks recorded', () => {
    expect(
      kept(trace('a0', 0, '2-4', 100n), trace('a1', 1, '2-4', 101n), trace('b0', 0, '10-12', 900n)).files,
    ).toEqual(['a0', 'a1']);
  });

  it('keeps the only trace of a rank, whatever its window', () => {
    expect(
      kept(trace('a0', 0, '2-4', 100n), trace('b0', 0, '9-9', 900n), trace('a1', 1, '5-6', 400n)).files,
    ).toEqual(['b0 (later)', 'a1']);
  });

  it('passes over a window that the end of the job cut off', () => {
    const window = (path: string, at: string, ns: bigint, steps: number, facts?: object) =>
      trace(path, 0, at, ns, facts, steps);
    expect(kept(window('a', '2-4', 100n, 3), window('b', '7-7', 900n, 1))).toEqual({
      files: ['a'],
      problems: [
        'rank 0 recorded 2 windows; only the one of steps 2-4 was analyzed; pass the path of another trace to analyze that',
      ],
    });
    expect(kept(window('a', '2-4', 100n, 3), window('b', '7-8', 900n, 2)).files).toEqual(['b (later)']);
    const empty = { hasGpuWork: false, time: { compute: 0 } };
    expect(kept(window('a', '2-2', 100n, 1), window('b', '5-5', 900n, 1, empty)).files).toEqual(['a']);
    const onCpu = { hasGpuWork: false, time: { compute: 5 } };
    expect(kept(window('a', '2-2', 100n, 1), window('b', '5-5', 900n, 1, onCpu)).files).toEqual([
      'b (later)',
    ]);
    // Where none is whole, the newest.
    expect(kept(window('a', '2-2', 100n, 1, empty), window('b', '5-5', 900n, 1, empty)).files).toEqual([
      'b (later)',
    ]);
  });

  it('passes over a cut-off window on every rank, also where most ranks have it', () => {
    const two = [0, 1].map((rank) => trace(`b${rank}`, rank, '7-7', 900n, undefined, 1));
    expect(kept(trace('a0', 0, '2-4', 100n, undefined, 3), ...two).files).toEqual(['a0', 'b1']);
    const both = [0, 1].map((rank) => trace(`a${rank}`, rank, '2-4', 100n, undefined, 3));
    expect(kept(...both, ...two).files).toEqual(['a0', 'a1']);
  });

  describe('in a run that became slower for a while', () => {
    const folder = (step: number, rank = 0) =>
      trace(`traces/step_${step}/rank-${rank}-coord-${rank}-trace.json`, rank, '', null);
    const logTo = (last: number, rank = 0) =>
      ({ ...log(rank), log: { runs: [{ step: Float64Array.of(0, last) }] } }) as unknown as RankedInput;
    const incident = {
      kind: 'slower',
      alarm: true,
      run: null,
      step: 5000,
      until_step: null,
      before_ms: 100,
      after_ms: 300,
    };
    const files = (of: object, ...members: readonly RankedInput[]) =>
      keepOneWindow({
        ...inputs(members),
        beside: [{ evidence: { incidents: [{ ...incident, ...of }] } }],
        runs: [],
      } as unknown as RunInputs).members.map((m) => m.path.replace(/-coord.*/, ''));
    const usual = 'traces/step_21/rank-0';
    const slow = 'traces/step_5100/rank-0';
    const members = [folder(21), folder(5100), folder(5100, 1)];

    it('the window of the incident is only evidence of it, also if more ranks recorded that', () => {
      expect(files({}, ...members, logTo(6000), logTo(6000, 1))).toEqual([usual, 'log0', 'log1']);
      expect(files({ until_step: 5400 }, ...members, logTo(9000))).toEqual([
        usual,
        'traces/step_5100/rank-1',
        'log0',
      ]);
    });

    it('the run is what it was for most of its time, which may be the incident', () => {
      expect(files({}, ...members, logTo(7000), logTo(7000, 1))).toEqual([
        slow,
        'traces/step_5100/rank-1',
        'log0',
        'log1',
      ]);
    });

    it('a speed-up, or an incident of a run of unknown length, changes nothing', () => {
      const all = [slow, 'traces/step_5100/rank-1', 'log0'];
      expect(files({ kind: 'faster', alarm: false }, ...members, logTo(6000))).toEqual(all);
      expect(files({}, ...members, log(0))).toEqual(all);
    });
  });

  it('passes over windows without a selected step', () => {
    expect(kept(trace('a', 0, '2-4', 100n), trace('b', 0, '10-12', 900n, null)).files).toEqual(['a', 'b']);
  });

  it('windows that all count from 0 are kept apart', () => {
    expect(kept(trace('a', 0, '2-4', 100n), trace('b', 0, '2-4', 900n))).toEqual({
      files: ['b (later)'],
      problems: [
        'rank 0 recorded 2 windows; only the newest was analyzed; pass the path of another trace to analyze that',
      ],
    });
  });

  it('leaves a run alone in which every rank has one window, or the same twice', () => {
    const one = inputs([trace('a', 0, '2-4', 100n), trace('b', 1, '2-4', 100n), log(0)]);
    expect(keepOneWindow(one)).toBe(one);
    const twice = inputs([trace('a', 0, '2-4', null), trace('b', 0, '2-4', null)]);
    expect(keepOneWindow(twice)).toBe(twice);
  });
});
