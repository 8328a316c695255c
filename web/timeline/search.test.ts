import { expect, it, vi } from 'vitest';
import { Search } from './search.js';
import type { Selection, Stage } from './selection.js';

function searchOf(starts: readonly number[], from = 0) {
  const revealed: number[] = [];
  const find = vi.fn(async () => starts.map((start) => ({ start })));
  const stage = {
    source: { search: find },
    scene: { hits: [] },
    viewport: { from },
    draw: vi.fn(),
    fail: vi.fn(),
  };
  const selection = { reveal: async (hit: { start: number }) => void revealed.push(hit.start) };
  return {
    stage,
    find,
    revealed,
    search: new Search(stage as unknown as Stage, selection as unknown as Selection),
  };
}

it('a search goes to the first hit in view, then around the ends', async () => {
  const { search, revealed } = searchOf([10, 20, 30], 15);
  await search.find('gemm', [0]);
  await search.step(1);
  await search.step(1);
  await search.step(-1);
  expect(revealed).toEqual([20, 30, 10, 30]);
  expect(search.hits.value!.at).toBe(2);
});

it('a search whose hits are all before the view goes to the first one', async () => {
  const { search, revealed } = searchOf([10, 20], 1000);
  await search.find('gemm', [0]);
  expect(revealed).toEqual([10]);
});

it('an empty search asks nobody and clears the hits', async () => {
  const { search, stage, find } = searchOf([10]);
  await search.find('gemm', [0]);
  expect(stage.scene.hits).toHaveLength(1);
  await search.find('  ', [0]);
  expect([search.hits.value, stage.scene.hits, find.mock.calls.length]).toEqual([null, [], 1]);
});

it('a search without hits reveals nothing, also at the next key', async () => {
  const { search, revealed } = searchOf([]);
  await search.find('gemm', [0]);
  await search.step(1);
  expect([revealed, search.hits.value]).toEqual([[], { list: [], at: -1 }]);
});

it('a search that fails is reported', async () => {
  const { search, stage, find } = searchOf([]);
  find.mockRejectedValue(new Error('gone'));
  await search.find('gemm', [0]);
  expect(stage.fail).toHaveBeenCalledWith(new Error('gone'));
});
