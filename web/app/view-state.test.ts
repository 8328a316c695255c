import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatHash, NOWHERE, parseHash } from './view-state.js';

describe('the view in the address', () => {
  it('comes back as it was', () => {
    const whole = fc.option(fc.nat(), { nil: null });
    const time = fc.option(
      fc.tuple(fc.nat(), fc.nat()).map(([a, b]) => [Math.min(a, b), Math.max(a, b) + 1] as const),
      { nil: null },
    );
    const tab = fc.constantFrom(null, 'kernels', 'steps');
    fc.assert(
      fc.property(fc.record({ rank: whole, step: whole, time, tab }), (view) => {
        expect(parseHash(`#${formatHash(view)}`)).toEqual(view);
      }),
    );
  });

  it.each(['', '#', '#rank=-1&step=x', '#t=5-2', '#t=a-b&tab=<b>', '#rank=1e9999', '#%', '#finding-3'])(
    'leaves out what cannot be read: %s',
    (hash) => expect(parseHash(hash)).toEqual(NOWHERE),
  );
});
