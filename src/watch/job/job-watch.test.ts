import { describe, expect, it } from 'vitest';
import { watchSimulated } from '../../../test/helpers/watched-job.js';

const brief = (job: Parameters<typeof watchSimulated>[0]) =>
  watchSimulated(job).map(({ kind, cause, ranks, state }) => ({ kind, cause, ranks, state }));

describe('a job that changes', () => {
  it('the loader gets slower: reported with its step, its cause and what it costs', () => {
    const [incident, ...more] = watchSimulated({
      steps: 12_000,
      of: (step) => (step < 6000 ? {} : { data: 14 }),
    });
    expect(more).toEqual([]);
    expect(incident).toMatchObject({
      kind: 'slower',
      cause: 'loader',
      ranks: [],
      state: 'open',
      alarm: true,
      until_step: null,
    });
    expect(Math.abs(incident!.step - 6000)).toBeLessThanOrEqual(50);
    expect(incident!.detected_step).toBeLessThan(6800);
    expect(incident!.change).toBeCloseTo(0.12, 1);
    expect(incident!.rank_hours_per_hour).toBeCloseTo(12 / 112, 1);
    expect(incident!.evidence[0]).toMatch(/^data_wait: 2\.\d+ ms → 1[34]\.\d+ ms per step/);
  });

  it('on a quiet machine, a slow-down is one incident, and not also pauses that come more often', () => {
    const found = brief({ steps: 6000, noise: 0.003, of: (step) => (step < 3000 ? {} : { data: 152 }) });
    expect(found).toEqual([{ kind: 'slower', cause: 'loader', ranks: [], state: 'open' }]);
  });

  it('a large change after a small drift begins where it begins, and has its own size', () => {
    const [incident, ...more] = watchSimulated({
      steps: 6000,
      noise: 0.003,
      of: (step) => (step < 2700 ? {} : step < 3000 ? { forward: 31.3 } : { forward: 31.3, data: 102 }),
    });
    expect(more).toEqual([]);
    expect(Math.abs(incident!.step - 3000)).toBeLessThanOrEqual(20);
    expect(incident!.change).toBeCloseTo(1, 1);
    expect(incident!.cause).toBe('loader');
  });

  it('a slow-down of 4% is an incident once it has cost something, and none if it ends before', () => {
    const shifted = (to: number) => (step: number) => (step >= 3000 && step < to ? { other: 6 } : {});
    expect(brief({ steps: 6000, noise: 0.003, of: shifted(3400) })).toEqual([]);
    expect(brief({ steps: 6000, noise: 0.003, of: shifted(6000) })).toHaveLength(1);
  });

  it('one of eight ranks gets slower: it is named, and the ranks that wait for it are not', () => {
    const found = brief({
      steps: 12_000,
      ranks: 8,
      of: (step, rank) => (rank === 5 && step >= 6000 ? { other: 12 } : {}),
    });
    expect(found).toEqual([{ kind: 'slower', cause: 'host', ranks: [5], state: 'open' }]);
  });

  it('communication gets slower on all ranks: no rank is named', () => {
    const found = brief({
      steps: 12_000,
      ranks: 4,
      // One rank after the other is last, by more than before.
      of: (step, rank) => (step >= 6000 && rank === (step / 10) % 4 ? { other: 30 } : {}),
    });
    expect(found.filter((i) => i.ranks.length > 0)).toEqual([]);
  });

  it('the optimizer does not slow down with the passes: more work per step, and no alarm', () => {
    const [incident, ...more] = watchSimulated({
      steps: 12_000,
      // Larger activations push its data out of the caches.
      of: (step) => (step < 6000 ? {} : { forward: 57, backward: 114, optimizer: 8 }),
    });
    expect(more).toEqual([]);
    expect(incident).toMatchObject({ kind: 'more-work', alarm: false, fix: null, rank_hours_per_hour: null });
  });

  it('everything slows down alike, the optimizer too: an alarm', () => {
    const [incident] = watchSimulated({
      steps: 12_000,
      of: (step) => (step < 6000 ? {} : { data: 3, forward: 45, backward: 90, optimizer: 9, other: 3 }),
    });
    expect(incident).toMatchObject({ kind: 'slower', cause: 'compute', alarm: true });
  });

  it('the pace returns to what it was: the incident ends, and no second one begins', () => {
    const found = watchSimulated({
      steps: 15_000,
      of: (step) => (step >= 5000 && step < 10_000 ? { data: 22 } : {}),
    });
    expect(found).toHaveLength(1);
    expect(found[0]).toMatchObject({ state: 'ended', cause: 'loader' });
    expect(found[0]!.until_step).toBeGreaterThan(9900);
    expect(found[0]!.until_step).toBeLessThan(10_800);
  });

  it('a second reason on top of a first: an incident of its own, with its own beginning', () => {
    const found = watchSimulated({
      steps: 24_000,
      of: (step) => ({ data: step < 6000 ? 2 : 12, ...(step < 14_000 ? {} : { other: 40 }) }),
    });
    expect(found.map(({ kind, cause, state }) => ({ kind, cause, state }))).toEqual([
      { kind: 'slower', cause: 'loader', state: 'open' },
      { kind: 'slower', cause: 'host', state: 'open' },
    ]);
    expect(Math.abs(found[1]!.step - 14_000)).toBeLessThanOrEqual(50);
    expect(found[1]!.before_ms).toBeCloseTo(110, -1);
  });

  it('both reasons end: both incidents do; only the second: the first goes on', () => {
    const states = (over: (step: number) => object) =>
      watchSimulated({
        steps: 30_000,
        of: (step) => ({ data: step < 6000 ? 2 : 12, other: step < 14_000 ? 2 : 40, ...over(step) }),
      }).map((i) => [i.cause, i.state]);
    expect(states((s) => (s < 22_000 ? {} : { data: 2, other: 2 }))).toEqual([
      ['loader', 'ended'],
      ['host', 'ended'],
    ]);
    expect(states((s) => (s < 22_000 ? {} : { other: 2 }))).toEqual([
      ['loader', 'open'],
      ['host', 'ended'],
    ]);
  });

  it('steps get longer and longer: one incident that grows', () => {
    const found = watchSimulated({
      steps: 30_000,
      of: (step) => ({ other: 2 + Math.max(0, step - 4000) / 200 }),
    });
    expect(found).toHaveLength(1);
    expect(found[0]).toMatchObject({ kind: 'growing', cause: 'host' });
    expect(found[0]!.change).toBeGreaterThan(0.5);
  });

  it('checkpoints begin in mid-run: pauses, with how often and how long', () => {
    const found = watchSimulated({
      steps: 20_000,
      outside: (step) => (step > 10_000 && step % 300 === 0 ? [['checkpoint', 5000]] : []),
    });
    expect(found).toHaveLength(1);
    expect(found[0]).toMatchObject({ kind: 'pauses', cause: 'checkpoint' });
    expect(found[0]!.evidence[0]).toMatch(/a pause of 5000 ms about every 300 steps/);
  });

  it('gets faster: reported, and no alarm', () => {
    const found = watchSimulated({ steps: 8000, of: (step) => (step < 4000 ? { data: 30 } : {}) });
    expect(found).toMatchObject([{ kind: 'faster', alarm: false }]);
  });
});

describe('a healthy job', () => {
  it.each([1, 2, 3, 4])('with noise of 10%% (seed %i) raises no alarm', (seed) => {
    expect(watchSimulated({ steps: 30_000, noise: 0.1, seed })).toEqual([]);
  });

  it('that saves, evaluates and restarts raises none', () => {
    const found = watchSimulated({
      steps: 40_000,
      ranks: 4,
      outside: (step) => [
        ...(step % 1000 === 999 ? [['checkpoint', 3000] as const] : []),
        ...(step % 5000 === 4999 ? [['evaluation', 60_000] as const] : []),
      ],
      restarts: [13_000, 26_000],
      // Every process begins slowly.
      of: (step) => (step % 13_000 < 30 ? { other: 500 } : {}),
    });
    expect(found).toEqual([]);
  });

  it('whose machine pauses now and then raises none', () => {
    const found = watchSimulated({ steps: 30_000, of: (step) => (step % 1777 === 0 ? { other: 900 } : {}) });
    expect(found).toEqual([]);
  });

  it('that was slow for five seconds raises none: it did not last', () => {
    const found = watchSimulated({
      steps: 20_000,
      of: (step) => (step >= 9000 && step < 9025 ? { other: 100 } : {}),
    });
    expect(found).toEqual([]);
  });
});

it('a restart ends what was open', () => {
  const found = watchSimulated({
    steps: 14_000,
    of: (step) => (step >= 5000 && step < 9000 ? { data: 30 } : {}),
    restarts: [9000],
  });
  expect(found).toMatchObject([{ kind: 'slower', state: 'restarted', cause: 'loader' }]);
});
