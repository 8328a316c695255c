import fc from 'fast-check';
import { expect, it } from 'vitest';
import { cases } from '../../test/helpers/cases.js';
import { NODE, waitGraph } from './wait-graph.js';

it('arrows lead from ranks that wait to the one that holds them up, which is in the last column', () => {
  const { nodes, arrows } = waitGraph({
    culprits: [9],
    waits: [
      { ranks: [8, 10], on: [9], call: 'all_to_all #4 of ep' },
      { ranks: [0, 1, 2], on: [8], call: 'recv in pp' },
    ],
  });
  expect(nodes.map((n) => [n.label, n.call, n.isCulprit])).toEqual([
    ['ranks 8, 10', 'all_to_all #4 of ep', false],
    ['ranks 0–2', 'recv in pp', false],
    ['rank 9', null, true],
  ]);
  expect(arrows.map(({ from, to }) => [nodes[from]!.label, nodes[to]!.label])).toEqual([
    ['ranks 8, 10', 'rank 9'],
    ['ranks 0–2', 'ranks 8, 10'],
  ]);
  expect(nodes[1]!.x).toBeLessThan(nodes[0]!.x);
  expect(nodes[0]!.x).toBeLessThan(nodes[2]!.x);
});

it('ranks in a ring wait for each other, and the one that left its order is marked', () => {
  const { nodes, arrows } = waitGraph({
    culprits: [3],
    waits: [
      { ranks: [2], on: [3], call: 'send in pp' },
      { ranks: [3], on: [4], call: 'recv in pp' },
      { ranks: [4], on: [3], call: 'recv in pp' },
    ],
  });
  expect(nodes.filter((n) => n.isCulprit).map((n) => [n.label, n.call])).toEqual([['rank 3', 'recv in pp']]);
  expect(arrows.map(({ from, to }) => `${nodes[from]!.ranks}>${nodes[to]!.ranks}`)).toEqual([
    '2>3',
    '3>4',
    '4>3',
  ]);
});

it('nodes never overlap, and all of them are inside the picture, whoever waits for whom', () => {
  const some = fc.uniqueArray(fc.nat(9), { minLength: 1, maxLength: 4 });
  const wait = fc.record({ ranks: some, on: some, call: fc.constant('c') });
  const waits = fc.array(wait, { minLength: 1, maxLength: 12 });
  const culprits = fc.uniqueArray(fc.nat(9), { maxLength: 2 });
  fc.assert(
    fc.property(waits, culprits, (all, named) => {
      const { nodes, width, height } = waitGraph({ culprits: named, waits: all });
      const overlaps = nodes.some((a, i) =>
        nodes.some((b, j) => j > i && a.x === b.x && Math.abs(a.y - b.y) < NODE.height),
      );
      expect(overlaps).toBe(false);
      for (const { x, y } of nodes) {
        expect(x).toBeGreaterThanOrEqual(0);
        expect(x + NODE.width).toBeLessThanOrEqual(width);
        expect(y + NODE.height).toBeLessThanOrEqual(height);
      }
    }),
    { numRuns: cases(100, 5000) },
  );
});
