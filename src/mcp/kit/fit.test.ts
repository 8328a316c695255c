import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fitInto, sizeOf } from './fit.js';

const reports = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 }), { maxKeys: 60 });

describe('an answer that must fit', () => {
  it('an answer that must fit never takes more than its bytes', () => {
    fc.assert(
      fc.property(reports, fc.integer({ min: 400, max: 20_000 }), (report, bytes) => {
        expect(sizeOf(JSON.stringify(fitInto(report, bytes)))).toBeLessThanOrEqual(bytes);
      }),
    );
  });

  it('an answer that fits stays whole, and nothing is listed as cut', () => {
    const report = { verdict: { text: 'data' }, ranks: [1, 2, 3], none: null, big: 2 ** 40 };
    expect(fitInto(report, 1000)).toEqual({ value: report, cut: [] });
  });

  it('an answer that was cut names the lists, with what is shown and what there was', () => {
    const report = {
      findings: Array.from({ length: 100 }, (_, i) => ({ id: `f${i}`, text: 'x'.repeat(50) })),
    };
    const { value, cut } = fitInto(report, 2000);
    const shown = (value.findings as unknown[]).length;
    expect(shown).toBeGreaterThan(3);
    expect(cut).toEqual([{ path: 'findings', shown, of: 100 }]);
  });

  it('names in an answer that act on a terminal are spelled out', () => {
    expect(fitInto({ name: 'a\x1b[2J\u202eb' }, 1000).value).toEqual({ name: 'a\\x1b[2J\\u202eb' });
  });
});
