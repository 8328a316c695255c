import { describe, expect, it } from 'vitest';
import type { RunInput } from '../../ingest/input.js';
import type { RankedInput } from '../../ingest/ranks.js';
import type { RecordedWindow } from '../../model/manifest.js';
import { profiledBefore } from './run-health.js';

const trace = (wasAttached: boolean | null, hasEarlierWindow = false, gpuWork = 5): RankedInput =>
  ({
    rank: 0,
    rankSource: 'file',
    hasEarlierWindow,
    of: 'trace',
    summary: { gpuWork, steps: [{ index: 117 }], process: { pid: '1', wasAttached } },
  }) as unknown as RankedInput;
const capture = (...windows: readonly RecordedWindow[]): RunInput =>
  ({
    of: 'run',
    path: 'p',
    hints: { rank: 0 },
    evidence: { manifest: { of: 'rank', rank: 0, windows } },
  }) as never;
const window = (firstStep: number, detached: boolean | null, slower: RecordedWindow['slower'] = null) => ({
  firstStep,
  detached,
  slower,
});
const codes = (member: RankedInput, ...beside: readonly RunInput[]) =>
  profiledBefore({ beside }, [member]).flatMap((n) => n.problems.map((p) => `${n.rank} ${p.code}`));

const ATTACHED = '0 profiled-before';

describe('profiledBefore', () => {
  it('believes the trace, else the other files', () => {
    expect(codes(trace(true))).toEqual([ATTACHED]);
    expect(codes(trace(false))).toEqual([]);
    expect(codes(trace(null))).toEqual([]);
    expect(codes(trace(null, true))).toEqual([ATTACHED]);
    // Two windows of a process with TEARDOWN_CUPTI=1.
    expect(codes(trace(false, true))).toEqual([]);
  });

  it('believes capture most, about windows before this one', () => {
    expect(codes(trace(true), capture(window(17, true), window(117, true)))).toEqual([]);
    expect(codes(trace(false), capture(window(17, false), window(117, true)))).toEqual([ATTACHED]);
    expect(codes(trace(true), capture(window(117, true)))).toEqual([ATTACHED]);
    // A profiler that was detached after the last window left nothing behind.
    expect(codes(trace(true), capture(window(17, false), window(20, true)))).toEqual([]);
  });

  it('has nothing to say about a job without GPU', () => {
    expect(codes(trace(true, true, 0))).toEqual([]);
  });

  it('says that steps became slower', () => {
    const slower = capture(window(17, true, { low: 0.36, high: 0.43 }), window(217, true));
    const [, note] = profiledBefore({ beside: [slower] }, [trace(false)]);
    expect(note?.problems.map((p) => `${p.severity}: ${p.message}`)).toEqual([
      'warning: steps take 36% to 43% longer since this rank recorded a profiler window',
    ]);
  });
});
