import { describe, expect, it } from 'vitest';
import type { SimulateOptions } from '../../../test/helpers/simulate/options.js';
import { compareRun } from '../../../test/helpers/simulate/score.js';
import { simulateRun } from '../../../test/helpers/simulate/simulate.js';

const BASE = { seed: 1, ranks: 8, steps: 6, eventsPerStep: 60, parallelism: 'mesh2d' } as const;
const compared = (options: Omit<SimulateOptions, 'seed'>) => {
  const run = simulateRun({ ...BASE, ...options });
  return { trueMs: run.truth.costMs, ...compareRun(run)! };
};

describe('groups whose transfers are slow', () => {
  it('groups whose transfers are slow are found by comparison with their siblings', () => {
    expect(compared({ fault: { kind: 'link', ranks: [1], size: 0.6 } }).slowGroups).toHaveLength(1);
  });

  it.each(['gpu', 'host'] as const)(
    'groups whose transfers are slow are not those that wait for a member without a trace, which waits for the late rank (%s)',
    (kind) => {
      const fault = { kind, ranks: [5], size: 0.5 };
      const { slowGroups, late, trueMs } = compared({ tensorParallel: 2, fault, missingRanks: [4] });
      expect(slowGroups).toEqual([]);
      expect(late).toMatchObject([{ ranks: [5], cause: kind }]);
      expect(late[0]!.cost / 1e6).toBeGreaterThan(0.75 * trueMs);
      expect(late[0]!.cost / 1e6).toBeLessThan(1.1 * trueMs);
    },
  );
});
