import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { analyze, HEADER, steps } from '../../../test/helpers/logs.js';
import { fromPhases } from './from-phases.js';

/** Logs of some ranks. `phases`: of a rank in a step. */
const logsOf = (ranks: number, phases: (rank: number, step: number) => readonly string[], header = '') =>
  Array.from({ length: ranks }, (_, r) => r).flatMap((r) =>
    analyze(
      header,
      steps(0, 9, (n) => phases(r, n).map((p) => `${p} r${r}`)),
    ),
  );
/** ms waited in the first step, by rank; null: unknown. */
const waits = (logs: ReturnType<typeof logsOf>) =>
  fromPhases(logs)?.map((c) => Math.round((c.end[0]! - c.start[0]!) / 1e4) / 100) ?? null;
const jitter = (r: number, n: number) => ((7 * r + 3 * n) % 5) / 10;

describe('a phase that ends on all ranks together', () => {
  it('shows which rank came late to it: files of lmms-engine', () => {
    // Rank 5 copies 12 ms longer; the others wait as long in the step that holds the all_reduce.
    const logs = logsOf(8, (r, n) => {
      const copy = (r === 5 ? 14 : 2) + jitter(r, n);
      return [`host_to_device ${copy}`, `training_step ${54 - copy}`, 'training_metrics 1'];
    });
    const found = waits(logs)!;
    expect(found[5]).toBeLessThan(0.1);
    for (const [r, ms] of found.entries()) if (r !== 5) expect(Math.abs(ms - 12)).toBeLessThan(0.6);
    expect(fromPhases(logs)![0]!.groups[0]!.name).toBe('end of training_step');
  });

  it('may be the metrics: extra computing in training_step, an all_reduce after it', () => {
    const logs = logsOf(8, (r, n) => {
      const step = (r === 3 ? 30 : 20) + jitter(r, n);
      return ['host_to_device 1', `training_step ${step}`, `training_metrics ${33 - step}`];
    });
    expect(fromPhases(logs)![0]!.groups[0]!.name).toBe('end of training_metrics');
    expect(waits(logs)!.map((ms) => Math.round(ms))).toEqual([10, 10, 10, 0, 10, 10, 10, 10]);
  });

  it('a phase that ends on all ranks together is found where the delay is in no phase, if the iteration was timed', () => {
    const logs = logsOf(
      4,
      (r) => ['forward 10 host', `backward ${r === 2 ? 20 : 45} host`, 'training_step 60 host'],
      HEADER,
    );
    expect(waits(logs)).toEqual([25, 25, 0, 25]);
  });

  it('a phase that ends on all ranks together is not found where the delay and the wait are in one phase', () => {
    expect(waits(logsOf(8, () => ['host_to_device 1', 'training_step 30']))).toBeNull();
  });

  it('a phase that ends on all ranks together is not found where a short phase may be a faster device', () => {
    expect(waits(logsOf(8, (r) => ['host_to_device 1', `training_step ${r === 2 ? 20 : 30}`]))).toBeNull();
  });

  it('a phase that ends on all ranks together is not found for two ranks that each have a long phase', () => {
    const logs = logsOf(
      2,
      (r) => [`forward ${r ? 20 : 10}`, `backward ${r ? 10 : 20}`, 'training_step 40'],
      HEADER,
    );
    expect(waits(logs)).toBeNull();
  });

  it('a phase that ends on all ranks together is not found among ranks that run on their own', () => {
    const ms = fc.integer({ min: 5, max: 60 });
    const noise = fc.infiniteStream(fc.integer({ min: 0, max: 100 }));
    let [named, all] = [0, 0];
    fc.assert(
      fc.property(fc.array(fc.tuple(ms, ms), { minLength: 3, maxLength: 8 }), noise, (ranks, next) => {
        const vary = () => 1 + (next.next().value as number) / 500;
        const logs = logsOf(ranks.length, (r) => {
          const [copy, step] = ranks[r]!;
          return [`host_to_device ${copy * vary()}`, `training_step ${step * vary()}`];
        });
        all++;
        if (fromPhases(logs)) named++;
      }),
      { numRuns: 300 },
    );
    expect(named / all).toBeLessThan(0.02);
  });
});
