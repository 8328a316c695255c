import { expect, it } from 'vitest';
import { compareRun } from '../../../test/helpers/simulate/score.js';
import { simulateRun } from '../../../test/helpers/simulate/simulate.js';
import { axesOutsideMesh } from './mesh.js';

it('mesh coordinates follow from the process groups', () => {
  const { table } = compareRun(simulateRun({ seed: 1, ranks: 8, parallelism: 'mesh2d' }))!;
  const axes = Object.keys(table!.coordinates[0]!);
  expect(axes.length).toBeGreaterThanOrEqual(2);
  const coordinates = table!.coordinates.map((c) => JSON.stringify(c));
  expect(new Set(coordinates).size).toBe(8);
});

it('one group of all ranks says nothing about a mesh', () => {
  const { table } = compareRun(simulateRun({ seed: 1, ranks: 4, parallelism: 'ddp' }))!;
  expect(table!.coordinates).toEqual([null, null, null, null]);
});

it('groups that follow no axis of the files’ coordinates are reported', () => {
  const { matched } = compareRun(
    simulateRun({ seed: 1, ranks: 8, parallelism: 'mesh2d', tensorParallel: 2 }),
  )!;
  expect(axesOutsideMesh(matched, (rank) => ({ dp: rank >> 1, tp: rank % 2 }))).toEqual([]);
  // Finer than the groups: each follows two axes.
  expect(axesOutsideMesh(matched, (r) => ({ pp: r >> 2, dp: (r >> 1) % 2, tp: r % 2 }))).toEqual([]);
  expect(axesOutsideMesh(matched, (rank) => ({ dp: rank % 4, tp: rank >> 2 }))).toEqual(['tp', 'dp']);
  expect(axesOutsideMesh(matched, () => null)).toEqual([]);
});

it('a whole stage that is late is named as one', () => {
  const run = simulateRun({
    seed: 2,
    ranks: 8,
    parallelism: 'mesh2d',
    fault: { kind: 'gpu', ranks: [2, 3], size: 0.3 },
  });
  const [late] = compareRun(run)!.late;
  expect(late).toMatchObject({ ranks: [2, 3], cause: 'gpu' });
  expect(late).toMatchObject({ pattern: 'stage', location: 'dp 1' });
});
