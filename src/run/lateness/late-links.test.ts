import { describe, expect, it } from 'vitest';
import type { SimulateOptions } from '../../../test/helpers/simulate/options.js';
import { compareRun } from '../../../test/helpers/simulate/score.js';
import { simulateRun } from '../../../test/helpers/simulate/simulate.js';

const BASE = { seed: 2, ranks: 8, ranksPerHost: 4, steps: 8, eventsPerStep: 80 } as const;
const late = (options: Omit<SimulateOptions, 'seed'>) =>
  compareRun(simulateRun({ ...BASE, ...options }))!.late.map((l) => ({ ...l, ms: l.cost / 1e6 }));
const SLOW = { kind: 'link', ranks: [2], size: 0.3 } as const;

describe('a slow link', () => {
  it.each([
    // The simulator’s steps grow by 10.9 and by 3.7 ms.
    ['pipeline', [2, 3], 10.9],
    ['mesh2d', [0, 2, 4, 6], 3.7],
  ] as const)(
    'of a %s makes its ranks late, and costs what the step would save',
    (parallelism, ranks, ms) => {
      const found = late({ parallelism, fault: SLOW });
      expect(found).toMatchObject([{ ranks, cause: 'link', pattern: 'persistent' }]);
      expect(found[0]!.ms).toBeGreaterThan(0.8 * ms);
      expect(found[0]!.ms).toBeLessThan(1.2 * ms);
    },
  );

  it('that bubbles hide is not worth naming', () => {
    expect(late({ parallelism: 'pipeline', fault: { ...SLOW, size: 0.1 } })).toEqual([]);
  });

  it('of all ranks has no siblings to compare with', () => {
    expect(late({ parallelism: 'ddp', fault: SLOW })).toEqual([]);
  });

  it('is not seen where there is none', () => {
    for (const parallelism of ['pipeline', 'mesh2d'] as const) expect(late({ parallelism })).toEqual([]);
  });
});
