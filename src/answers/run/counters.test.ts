import { describe, expect, it } from 'vitest';
import { share } from '../../base/units.js';
import type { Observed } from '../../diagnosis/observe.js';
import { countersRemark, countersText } from './counters.js';

const counters = (sm: number | null, tensor: number | null, dram: number | null) => ({
  samples: 100,
  sm: sm === null ? null : share(sm),
  tensor: tensor === null ? null : share(tensor),
  dram: dram === null ? null : share(dram),
});
const remark = (of: ReturnType<typeof counters> | null) =>
  countersRemark({ views: [{ source: 'trace', facts: { counters: of } }] } as unknown as Observed);

describe('the counters of a device', () => {
  it('show that memory sets the pace', () => {
    expect(remark(counters(0.95, 0.1, 0.83))?.detail).toMatch(
      /83% of its memory bandwidth.*memory sets the pace/,
    );
    expect(remark(counters(0.95, 0.9, 0.7))?.detail).not.toMatch(/memory sets/);
  });

  it('show kernels that are too small, and tensor cores that are well used', () => {
    expect(remark(counters(0.3, null, 0.2))?.detail).toMatch(/70% of its multiprocessors without work/);
    expect(remark(counters(0.9, 0.75, 0.3))?.detail).toMatch(/tensor cores active 75%/);
  });

  it('say nothing about other bottlenecks, in between, and if they were not sampled', () => {
    expect(remark(counters(0.95, 0.1, 0.83))?.qualifies?.bottleneck).toBe('gpu');
    expect(remark(counters(0.8, 0.3, 0.4))).toBeNull();
    expect(remark(counters(null, null, null))).toBeNull();
    expect(remark(null)).toBeNull();
  });

  it('are listed as far as they were sampled', () => {
    expect(countersText(counters(0.95, null, 0.83))).toBe('multiprocessors active 95%, memory bandwidth 83%');
  });
});
