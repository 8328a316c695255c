import { describe, expect, it } from 'vitest';
import { readTrace } from '../../../../test/helpers/read-trace.js';

const kernel = (args: object, more: object = {}) =>
  JSON.stringify({ ph: 'X', cat: 'kernel', name: 'k', pid: 0, tid: 7, ts: 1, dur: 1, ...more, args });
const read = (...events: string[]) => readTrace(`[${events.join(',')}]`).trace;

describe('columns take the narrowest type that holds them', () => {
  it('names and tracks grow with their number', () => {
    const few = read(kernel({}));
    expect([few.name.BYTES_PER_ELEMENT, few.track.BYTES_PER_ELEMENT]).toEqual([2, 1]);
    const many = read(
      ...Array.from({ length: 70_000 }, (_, i) => kernel({}, { name: `k${i}`, tid: i % 300 })),
    );
    expect([many.name.BYTES_PER_ELEMENT, many.track.BYTES_PER_ELEMENT]).toEqual([4, 2]);
    expect(many.tracks[many.track[299]!]!.tid).toBe('299');
    expect(new Set(many.name).size).toBe(70_000);
  });

  it('durations become doubles when one does not fit', () => {
    expect(read(kernel({})).dur).toBeInstanceOf(Uint32Array);
    const long = read(kernel({}), kernel({}, { dur: 4_294_967.295 }), kernel({}, { dur: -1 }));
    expect([...long.dur]).toEqual([1000, 4_294_967_295, -1000]);
  });

  it('keeps what a narrow column cannot hold as text', () => {
    const { gpu, wideIds } = read(
      kernel({ device: 3, 'registers per thread': 255 }),
      kernel({ device: 255, 'registers per thread': 70_000 }),
    );
    expect([...gpu.device]).toEqual([3, 255]);
    expect([...gpu.registers]).toEqual([255, 65_535]);
    expect(wideIds).toEqual([
      { row: 1, field: 'gpu.device', text: '255' },
      { row: 1, field: 'gpu.registers', text: '70000' },
    ]);
  });

  it('marks what is absent', () => {
    const { gpu } = read(kernel({ stream: 7 }));
    expect([gpu.device[0], gpu.registers[0], gpu.grid[0], gpu.occupancy[0]]).toEqual([
      255,
      65_535,
      0,
      Number.NaN,
    ]);
  });
});
