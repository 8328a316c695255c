import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sortByTime } from './time-order.js';

describe('sortByTime', () => {
  it('orders by start, longest first, whatever the order was', () => {
    const event = fc.record({ ts: fc.integer({ min: 0, max: 40 }), dur: fc.integer({ min: 0, max: 5 }) });
    fc.assert(
      fc.property(fc.array(event, { maxLength: 200 }), (events) => {
        const ts = Float64Array.from(events, (e) => e.ts);
        const dur = Uint32Array.from(events, (e) => e.dur);
        const sorted = sortByTime(
          Uint32Array.from(events, (_, i) => i),
          ts,
          dur,
        );
        const expected = [...events.keys()].sort((a, b) => ts[a]! - ts[b]! || dur[b]! - dur[a]! || a - b);
        expect([...sorted]).toEqual(expected);
      }),
      { numRuns: 500 },
    );
  });
});
