import { describe, expect, it } from 'vitest';
import { lengthOf } from '../base/intervals.js';
import { findPacedSpans } from './divide-spans.js';
import type { RecordedStep } from './step-records.js';

/** One step with phases one after the other: ms on the device, lag before and after. */
function stepOf(...phases: readonly (readonly [ms: number, before: number, after: number])[]): RecordedStep {
  let at = 0;
  const parts = phases.map(([ms, before, after], phase) => {
    const start = at * 1e6;
    at += ms;
    const part = { start, ns: ms * 1e6, hostNs: (ms + before - after) * 1e6, lag: after * 1e6 };
    return [phase, [part]] as const;
  });
  return { number: 1, generation: 0, parts: new Map(parts) };
}
const paced = (...phases: readonly (readonly [ms: number, before: number, after: number])[]) => {
  const { byHost, byDevice } = findPacedSpans([stepOf(...phases)], 10e6)!;
  return [lengthOf(byHost) / 1e6, lengthOf(byDevice) / 1e6];
};

describe('who sets the pace', () => {
  it('the device sets the pace while it is behind', () => {
    expect(paced([4, 0.01, 2], [6, 2, 5])).toEqual([0, 10]);
  });

  it('the host sets the pace where the device has caught up', () => {
    expect(paced([4, 0.01, 0.01], [6, 0.01, 0.02])[0]).toBeCloseTo(9.97, 6);
  });

  it('changes with the phase', () => {
    const [host, device] = paced([4, 0.01, 3], [2, 3, 0.1], [4, 0.1, 3]);
    expect([host, device]).toEqual([expect.closeTo(1.9, 6), expect.closeTo(8.1, 6)]);
  });

  it('the host sets the pace at a lag below a fiftieth of the step, the rest of one kernel', () => {
    expect(paced([4, 0.01, 0.19], [6, 0.19, 0.21])).toEqual([
      expect.closeTo(3.81, 6),
      expect.closeTo(6.19, 6),
    ]);
  });

  it('it is not known without lags who sets the pace', () => {
    const bare = { start: 0, ns: 1e6, hostNs: Number.NaN, lag: Number.NaN };
    expect(findPacedSpans([{ number: 1, generation: 0, parts: new Map([[0, [bare]]]) }], 1e6)).toBeNull();
  });
});
