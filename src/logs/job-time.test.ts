import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type DrawnJob, jobLog } from '../../test/helpers/draw-job.js';
import { analyzeOne, ms } from '../../test/helpers/logs.js';
import type { JobTime } from '../facts/job-time.js';
import { jobTimeOf } from './job-time.js';

const jobOf = (drawn: DrawnJob): JobTime => analyzeOne(jobLog(drawn)).job!;
const sumOf = ({ startUp, training, end, phases }: JobTime) =>
  startUp + training + end + phases.reduce((sum, p) => sum + p.ns, 0);

describe('the wall time of a job', () => {
  it('the wall time of a job is start-up, steps, the time between them, and the end', () => {
    const job = jobOf({ phases: { checkpoint: { ms: 500, count: 5 } }, startUpMs: 3000, endMs: 200 });
    expect([job.startUp, job.training, job.end, job.wall].map(ms)).toEqual([3000, 1000, 200, 4700]);
    expect(job.phases).toMatchObject([{ name: 'checkpoint', count: 5, recurs: true, own: false }]);
    expect(sumOf(job)).toBeCloseTo(job.wall, 0);
  });

  it('phases that recur are distinguished from a first compilation and a last checkpoint', () => {
    const { phases } = jobOf({
      phases: {
        compile: { ms: 900, count: 3, first: 0, last: 2 },
        checkpoint: { ms: 500, count: 1, first: 100, last: 100 },
        evaluation: { ms: 100, count: 2, first: 50, last: 100 },
      },
    });
    expect(phases.map((p) => [p.name, p.recurs])).toEqual([
      ['compile', false],
      ['checkpoint', false],
      ['evaluation', true],
    ]);
  });

  it("scales the job's own phases to all steps, without the model's phases inside them", () => {
    const job = jobOf({
      phases: { checkpoint: { ms: 1000, count: 5 } },
      step: (at) => [
        ...[`rollout 7 +${at} host`, `reward 2 +${at + 1} host`, `data_wait 1 +${at + 4} host`],
        ...[`forward 1 +${at + 7} host`, `backward 1 +${at + 8} host`],
      ],
    });
    const own = job.phases.filter((p) => p.own);
    expect(own.map((p) => [p.name, ms(p.ns), p.count])).toEqual([
      ['rollout', 400, 100],
      ['reward', 200, 100],
    ]);
    expect(ms(job.training)).toBe(400);
    expect(sumOf(job)).toBeCloseTo(job.wall, 0);
  });

  it('the wall time of a job is null, or adds up, whatever the header holds', () => {
    const value = fc.oneof(fc.double(), fc.constantFrom(null, 'x', [], {}, -1, 1e300), fc.integer());
    const phase = fc.oneof(
      value,
      fc.record({ ms: value, count: value, first_step: value, last_step: value }),
    );
    const fields = fc.record({
      ...{ start_ms: value, last_step_ms: value, end_ms: value, tail_ms: value, steps: value },
      phases: fc.oneof(value, fc.dictionary(fc.string(), phase)),
    });
    fc.assert(
      fc.property(fields, (job) => {
        const time = jobTimeOf({
          version: 1,
          run: null,
          rank: 0,
          worldSize: null,
          startedNs: null,
          command: null,
          denseSteps: 0,
          fields: { job },
        });
        if (time === null) return;
        expect(sumOf(time) / time.wall || 1).toBeCloseTo(1, 6);
        expect([time.startUp, time.training, time.end].every((part) => part >= 0)).toBe(true);
      }),
    );
  });
});
