import { describe, expect, it } from 'vitest';
import { drawnRun, steady } from '../../../test/helpers/compare.js';
import { Random } from '../step-times/random.js';
import { compareWithHistory, entriesOf, lastChange, lineOf } from './compare-history.js';

const day = (i: number) => `2026-11-${String(i + 1).padStart(2, '0')}T10:00:00.000Z`;

/** A history of runs with these mean step times. */
function historyOf(means: readonly number[], slower: readonly number[] = []) {
  const text = means.map((m, i) =>
    lineOf(drawnRun({ label: `run-${i}`, times: steady(m), setup: { device: 'H200', batchSize: 8 } }), {
      time: day(i),
      verdict: slower.includes(i) ? 'slower' : 'same',
      accepted: false,
    }),
  );
  return entriesOf(text.join(''));
}

const noisy = (mean: number, count: number, seed: number, noise = 0.01) => {
  const random = new Random(seed);
  return Array.from({ length: count }, () => mean * (1 + noise * random.normal()));
};

describe('lastChange', () => {
  it('finds the first run after a lasting change, the last one if there are several', () => {
    expect(lastChange([...noisy(100, 10, 1), ...noisy(107, 6, 2)])).toBe(10);
    expect(lastChange([...noisy(100, 10, 1), ...noisy(120, 8, 2), ...noisy(110, 7, 3)])).toBe(18);
    // One run on a busy machine does not hide it.
    expect(lastChange([...noisy(100, 5, 1), 125, ...noisy(100, 5, 2), ...noisy(107, 9, 3)])).toBe(11);
  });

  it('finds none in noise, in one slow run or in few runs', () => {
    let found = 0;
    for (let seed = 0; seed < 25; seed++) if (lastChange(noisy(100, 20, seed, 0.03)) !== null) found++;
    expect(found).toBeLessThanOrEqual(2);
    expect(lastChange([...noisy(100, 12, 4), 130, ...noisy(100, 6, 5)])).toBeNull();
    expect(lastChange([100, 100, 150, 150])).toBeNull();
  });
});

describe('compareWithHistory', () => {
  const run = (mean: number, setup = {}) => drawnRun({ label: 'now', times: steady(mean), setup });

  it('compares with the good runs, whose spread counts', () => {
    const { entries } = historyOf([100, 101, 99, 100.5, 99.5]);
    const slow = compareWithHistory(entries, run(108))!;
    expect(slow.verdict).toBe('slower');
    expect(slow.history).toMatchObject({ runs: 5, compared: 5, change: null });
    expect(compareWithHistory(entries, run(100.4))!.verdict).toBe('same');
  });

  it('leaves out runs that were slower, and those before the last change', () => {
    const { entries } = historyOf([...noisy(100, 6, 1), 130, ...noisy(90, 6, 2)], [6]);
    const report = compareWithHistory(entries, run(91))!;
    expect(report.history!.compared).toBe(6);
    expect(report.step.before_ms).toBeCloseTo(90, -0.5);
  });

  it('names the run since which the step takes longer', () => {
    const { entries } = historyOf([...noisy(100, 8, 1), ...noisy(110, 4, 2)], [8, 9, 10, 11]);
    const report = compareWithHistory(entries, run(110.5))!;
    expect(report.verdict).toBe('slower');
    expect(report.history!.change).toMatchObject({ at: 'run-8', time: day(8), since: 5 });
  });

  it('prefers runs on the same device', () => {
    const { entries } = historyOf([100, 101, 99]);
    const other = entriesOf(
      lineOf(drawnRun({ times: steady(50), setup: { device: 'B200' } }), {
        time: day(9),
        verdict: null,
        accepted: false,
      }),
    ).entries;
    const report = compareWithHistory([...entries, ...other], run(100, { device: 'H200' }))!;
    expect(report.history!.compared).toBe(3);
    expect(compareWithHistory([], run(100))).toBeNull();
  });

  it('skips lines that are no runs', () => {
    const good = lineOf(drawnRun({ times: steady(10) }), { time: day(0), verdict: null, accepted: false });
    const text = `${good}{"schema":"whyslow/hist\n[1,2]\n\n{"schema":"whyslow/history/1","report":{}}\n${good}`;
    expect(entriesOf(text)).toMatchObject({ broken: 3, entries: [{ good: true }, { good: true }] });
  });
});
