import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { DrawnSlices, SliceQuery, TimelineSource } from './source.js';
import { levelOf, type Tile, TileStore } from './tiles.js';

const SIZE = 512;

function slicesOf(starts: readonly number[], rows = starts.map(() => 0)): DrawnSlices {
  return {
    length: starts.length,
    start: Float64Array.from(starts),
    end: Float64Array.from(starts, (s) => s + 1),
    row: Uint16Array.from(rows),
    name: new Uint32Array(starts.length),
    names: ['void at::native::add'],
  } as unknown as DrawnSlices;
}

describe('the store of tiles', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  function storeOf(answer: (query: SliceQuery) => Promise<DrawnSlices>, most?: number) {
    const slices = vi.fn(answer);
    const onError = vi.fn();
    const store = new TileStore({ slices } as unknown as TimelineSource, () => {}, onError, most);
    const see = (first: number, count = 1, level = 0): Tile[] => {
      const seen: Tile[] = [];
      const size = SIZE * 2 ** level;
      store.visit(0, 0, level, first * size, (first + count) * size, (tile) => seen.push(tile));
      return seen;
    };
    return { store, slices, onError, see };
  }
  const settled = () => vi.advanceTimersByTimeAsync(0);

  it('asks once for a tile, and shows it from then on', async () => {
    const { store, slices, see } = storeOf(async () => slicesOf([1, 2, 5], [0, 0, 2]));
    expect(see(0)).toEqual([]);
    see(0);
    expect(store.isIdle).toBe(false);
    await settled();
    expect(store.isIdle).toBe(true);
    const [tile] = see(0);
    expect([tile!.from, tile!.to, [...tile!.rowStart], tile!.labels]).toEqual([
      0,
      512,
      [0, 2, 2, 3],
      ['add'],
    ]);
    expect(slices).toHaveBeenCalledTimes(1);
  });

  it('asks again for a tile that failed, and tells nobody when it comes', async () => {
    let failures = 2;
    const { store, slices, onError, see } = storeOf(async () => {
      if (failures-- > 0) throw new Error('the tunnel is down');
      return slicesOf([1]);
    });
    see(0);
    await vi.advanceTimersByTimeAsync(499);
    expect([slices.mock.calls.length, store.isIdle]).toEqual([1, false]);
    await vi.advanceTimersByTimeAsync(1);
    expect(slices).toHaveBeenCalledTimes(2);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(see(0)).toHaveLength(1);
    expect(store.isIdle).toBe(true);
    expect(onError).not.toHaveBeenCalled();
  });

  it('gives up after three more attempts, reports the error, and asks anew half a minute later', async () => {
    const { store, slices, onError, see } = storeOf(() => Promise.reject(new Error('gone')));
    see(0);
    await vi.advanceTimersByTimeAsync(20_000);
    expect(slices).toHaveBeenCalledTimes(4);
    expect(onError).toHaveBeenCalledTimes(1);
    expect(store.isIdle).toBe(true);
    see(0);
    expect(slices).toHaveBeenCalledTimes(4);
    await vi.advanceTimersByTimeAsync(30_000);
    see(0);
    expect(slices).toHaveBeenCalledTimes(5);
  });

  it('evicts the tiles that were used longest ago, not those that came first', async () => {
    const { slices, see } = storeOf(async () => slicesOf([1]), 10);
    for (let i = 0; i < 10; i++) {
      see(i);
      await settled();
    }
    see(0);
    see(10);
    await settled();
    expect(see(0)).toHaveLength(1);
    expect(slices).toHaveBeenCalledTimes(11);
    see(1);
    expect(slices).toHaveBeenCalledTimes(12);
  });

  it('sends no request for a view that has moved on', async () => {
    const { store, slices, see } = storeOf(async () => slicesOf([1]));
    see(0, 200);
    expect(slices).toHaveBeenCalledTimes(120);
    store.dropQueue();
    see(500);
    await settled();
    expect(slices.mock.calls.map(([q]) => q.from / SIZE)).toEqual([...Array(120).keys(), 500]);
    see(150);
    await settled();
    expect(see(150)).toHaveLength(1);
  });

  it('asks for nothing more once it is closed', async () => {
    const { store, slices, see } = storeOf(() => Promise.reject(new Error('gone')));
    see(0);
    await settled();
    store.close();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(slices).toHaveBeenCalledTimes(1);
  });

  it('shows a coarser tile, or finer ones, until the right one is there', async () => {
    const { see } = storeOf(({ to, from }) =>
      to - from === 2 * SIZE ? new Promise(() => {}) : Promise.resolve(slicesOf([1])),
    );
    see(0, 1, 3);
    await settled();
    expect(see(1, 1, 1).map((t) => t.to - t.from)).toEqual([8 * SIZE]);
    const finer = storeOf(({ to, from }) =>
      to - from === SIZE ? Promise.resolve(slicesOf([1])) : new Promise(() => {}),
    );
    finer.see(0, 2);
    await settled();
    expect(finer.see(0, 1, 1)).toHaveLength(2);
  });
});

describe('the level of a view', () => {
  it('the level of a view is the power of two just below the time of a pixel, or just above it if that is near', () => {
    expect([1, 2, 3, 3.5, 1024].map(levelOf)).toEqual([0, 1, 1, 2, 10]);
  });
});
