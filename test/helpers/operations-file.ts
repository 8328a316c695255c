import type { OperationTable } from '../../src/model/operation-table.js';
import { KIND, type Kind } from '../../src/operations/kinds.js';
import { drawJob } from '../../src/operations/testing.js';
import { drawParquet } from '../../src/readers/operations/testing.js';

const SECONDS: Partial<Record<Kind, number>> = {
  [KIND.forward]: 1,
  [KIND.backward]: 2,
  [KIND.gradsReduceScatter]: 1,
  [KIND.optimizer]: 1,
};

/**
 * Two pipelines of two stages, two microbatches, steps 10 and 11. Forward 1 s, backward 2 s, reducing 1 s, updating 1 s; the
 * last stage of rank 1 takes three times as long. By hand:
 *
 * - As recorded, 23 s. The slow stage: F 1–4, B 4–10, F 10–13, B 13–19. The first stage: B 19–21. Reduced at 22, updated at 23.
 * - Ideal, with the mean forward of 1.5 s and backward of 3 s, 15.5 s: computed at 13.5, and 2 more.
 * - With only the slow worker ideal, 14 s: F 1–2.5, B 2.5–5.5, F 5.5–7, B 7–10, the first stage to 12, and 2 more.
 */
export const SLOW_WORKER: OperationTable = drawJob({
  dpRanks: 2,
  stages: 2,
  microbatches: 2,
  steps: [10, 11],
  time: (kind, { dpRank, stage }) => {
    const slow = dpRank === 1 && stage === 1 && (kind === KIND.forward || kind === KIND.backward);
    return (SECONDS[kind] ?? 0) * (slow ? 3 : 1);
  },
});

/** A table as StragglerAnalysis stores it. */
export function parquetOf(table: OperationTable): Buffer {
  const ints = (name: string, values: ArrayLike<number>) =>
    ({ name, type: 'INT32', values: Array.from(values) }) as const;
  return drawParquet({
    columns: [
      ints('dp_rank', table.dpRank),
      ints('stage', table.stage),
      ints('rank', table.rank),
      ints('step', table.step),
      {
        name: 'optype',
        type: 'TEXT',
        values: Array.from(table.kind, (k) => table.kinds[k]!),
        dictionary: true,
      },
      { name: 'start_ts', type: 'DOUBLE', values: [...table.start] },
      { name: 'duration', type: 'DOUBLE', values: [...table.duration] },
      ints('seq_id', table.sequence),
    ],
  });
}
