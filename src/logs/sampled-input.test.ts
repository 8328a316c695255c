import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { share } from '../base/units.js';
import { sumOfClasses, totals } from '../facts/time-class.js';
import { sampledInput, withInput } from './sampled-input.js';

const AT = { file: 'train.py', line: 12, function: 'batches', source: 'yield make()' };
const found = (input: unknown) => sampledInput({ fields: { input } } as never);

describe('input that stack samples show', () => {
  it('input that stack samples show has a share of the training time and a line of code', () => {
    expect(found({ samples: 60, of: 100, ...AT })).toEqual({
      share: 0.6,
      line: 'train.py:12 (yield make())',
      kind: 'generator',
    });
    // A thread that waits for somebody else does not train there.
    expect(found({ samples: 98, of: 100, kind: 'await', ...AT })).toMatchObject({
      share: 0.98,
      kind: 'await',
    });
    expect(found({ samples: 60, of: 100, kind: 'other', ...AT })?.kind).toBe('generator');
  });

  it.each([
    ['too few samples', { samples: 20, of: 30, ...AT }],
    ['hardly any input', { samples: 4, of: 100, ...AT }],
    ['a generator that trains', { samples: 98, of: 100, ...AT }],
    ['nothing', null],
  ])('input that stack samples show is not known from %s', (_, input) => expect(found(input)).toBeNull());

  it('comes off what no phase explains, and leaves the step as long as it was', () => {
    const time = totals((c) => ({ compute: 50, idle_other: 30, idle_host: 20 })[c as string] ?? 0);
    expect(withInput(time, 100, share(0.4))).toMatchObject({ idle_data: 40, idle_other: 0, idle_host: 10 });
    // The GPU computes during the rest of it.
    expect(withInput(time, 100, share(0.8))).toMatchObject({ idle_data: 50, compute: 50 });
    const part = fc.double({ min: 0, max: 1, noNaN: true });
    fc.assert(
      fc.property(part, (p) => {
        expect(sumOfClasses(withInput(time, 100, share(p)))).toBeCloseTo(100, 6);
      }),
    );
  });
});
