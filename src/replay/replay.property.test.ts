import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cases } from '../../test/helpers/cases.js';
import { readTrace } from '../../test/helpers/read-trace.js';
import { Trace } from '../model/trace.js';
import { analyzeTrace } from '../traces/analyze-trace.js';
import { scaleWorks } from './edits.js';
import { copyPlan, type Plan } from './plan.js';
import { busyTime } from './recording-cost.js';
import { AS_RECORDED, replay, replaySteady } from './replay.js';

/** A small training loop. Times in ns. */
interface Machine {
  /** From a launch's start to the earliest start of its work; from the end of a stream's work to the next. */
  readonly latency: number;
  readonly gap: number;
  /** A synchronizing call that does not wait, and the return of one that waited. */
  readonly check: number;
  readonly lag: number;
}
type Doing =
  | { readonly kind: 'launch'; readonly stream: number; readonly call: number; readonly kernel: number }
  | { readonly kind: 'sync' }
  | { readonly kind: 'data'; readonly wait: number };
type Action = Doing & { /** Python before it. */ readonly before: number };

/** Runs the loop with scaled kernels. Returns the events that the profiler would record, and each step's frontier. */
function simulate(machine: Machine, steps: readonly (readonly Action[])[], factor = 1) {
  const events: object[] = [];
  const record = (
    cat: string,
    name: string,
    start: number,
    end: number,
    correlation?: number,
    stream?: number,
  ) =>
    events.push({
      ph: 'X',
      cat,
      name,
      ts: start / 1000,
      dur: (end - start) / 1000,
      ...(stream === undefined ? { pid: 100, tid: 100 } : { pid: 0, tid: stream }),
      args: {
        ...(correlation ? { correlation } : {}),
        ...(stream === undefined ? {} : { stream, device: 0 }),
      },
    });
  const busyUntil = new Map<number, number>();
  const frontiers: number[] = [];
  let now = 0;
  let id = 0;
  steps.forEach((actions, n) => {
    const from = now;
    for (const a of actions) {
      now += a.before;
      const start = now;
      if (a.kind === 'data') {
        now += a.wait;
        record('user_annotation', 'enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__', start, now);
      } else if (a.kind === 'sync') {
        now = Math.max(start + machine.check, ...[...busyUntil.values()].map((t) => t + machine.lag));
        record('cuda_runtime', 'cudaDeviceSynchronize', start, now);
      } else {
        now += a.call;
        const begin = Math.max(start + machine.latency, (busyUntil.get(a.stream) ?? 0) + machine.gap);
        const end = begin + a.kernel * factor;
        busyUntil.set(a.stream, end);
        frontiers[n] = Math.max(frontiers[n] ?? frontiers[n - 1] ?? 0, end);
        record('cuda_runtime', 'cudaLaunchKernel', start, now, ++id);
        record('kernel', 'gemm', begin, end, id, a.stream);
      }
    }
    now += 2000;
    record('user_annotation', `ProfilerStep#${n + 1}`, from, now);
  });
  return { events, frontiers };
}

/** The mean over the steps that the plan counts. */
function meanStep(plan: Plan, frontiers: readonly number[]): number {
  const { length, includesFirst } = plan.steps;
  return (
    (frontiers[length - 1]! - (includesFirst ? 0 : frontiers[0]!)) / (includesFirst ? length : length - 1)
  );
}

const us = (min: number, max: number) => fc.integer({ min, max }).map((t) => t * 1000);
const machine = fc.record({
  latency: us(4, 8),
  gap: fc.constantFrom(500, 1000, 2000),
  check: us(3, 6),
  lag: us(2, 6),
});
const launch = fc.record({
  kind: fc.constant('launch' as const),
  before: us(0, 60),
  call: us(2, 10),
  kernel: us(5, 300),
  stream: fc.constantFrom(7, 7, 7, 20),
});
const sync = fc.record({ kind: fc.constant('sync' as const), before: us(1, 40) });
const data = fc.record({ kind: fc.constant('data' as const), before: us(0, 20), wait: us(1, 800) });
const anyStep = fc
  .tuple(
    fc.array(
      fc.oneof(
        { weight: 8, arbitrary: launch },
        { weight: 1, arbitrary: sync },
        { weight: 1, arbitrary: data },
      ),
      { minLength: 5, maxLength: 25 },
    ),
    launch,
  )
  .map(([actions, last]): Action[] => [...actions, last]);
const anyLoop = fc.array(anyStep, { minLength: 2, maxLength: 5 });

function factsOf(events: readonly object[]) {
  const trace = new Trace(readTrace(JSON.stringify({ traceEvents: events }), [1 << 20], 'js').trace);
  const facts = analyzeTrace(trace, { steps: null })!;
  return { facts, plan: facts.detail!.plan! };
}

describe('a simulated loop', () => {
  it('is replayed exactly as recorded', () => {
    fc.assert(
      fc.property(machine, anyLoop, (m, loop) => {
        const { events, frontiers } = simulate(m, loop);
        const { facts, plan } = factsOf(events);
        const played = replay(plan, AS_RECORDED);
        expect(Math.abs(played.step / meanStep(plan, frontiers) - 1)).toBeLessThan(0.001);
        expect(played.step).toBeCloseTo(facts.steps.recorded, 0);
        // The device also ran work of a last step that was cut.
        if (facts.steps.total < loop.length) return;
        expect(busyTime(plan, played).compute).toBeCloseTo(facts.time.compute, 0);
      }),
      { numRuns: cases(60, 150) },
    );
  });

  it('takes as long with faster and slower kernels in the replay as in the simulation', () => {
    const factor = fc.constantFrom(0.1, 0.25, 0.5, 0.8, 1.3, 2, 4);
    fc.assert(
      fc.property(machine, anyLoop, factor, (m, loop, f) => {
        const plan = copyPlan(factsOf(simulate(m, loop).events).plan);
        scaleWorks(plan, () => true, f);
        const expected = meanStep(plan, simulate(m, loop, f).frontiers);
        expect(Math.abs(replay(plan, AS_RECORDED).step / expected - 1)).toBeLessThan(0.02);
      }),
      { numRuns: cases(60, 150) },
    );
  });

  it('is never later when recording is taken to cost more', () => {
    const share = fc.double({ min: 0, max: 0.9, noNaN: true });
    const cost = (part: number) => ({ ...AS_RECORDED, share: part, densePerEvent: 14_000 });
    fc.assert(
      fc.property(machine, anyLoop, share, share, (m, loop, a, b) => {
        const { plan } = factsOf(simulate(m, loop).events);
        const [less, more] = [Math.min(a, b), Math.max(a, b)].map((part) => replay(plan, cost(part)));
        for (let s = 0; s < plan.steps.length; s++)
          expect(more!.frontier[s]!).toBeLessThanOrEqual(less!.frontier[s]! + 1);
      }),
      { numRuns: cases(40, 100) },
    );
    fc.assert(
      fc.property(machine, anyStep, share, share, (m, step, a, b) => {
        const { plan } = factsOf(simulate(m, [step, step, step, step]).events);
        const [less, more] = [Math.min(a, b), Math.max(a, b)].map((part) => replaySteady(plan, cost(part)));
        expect(more!.step).toBeLessThanOrEqual(less!.step * 1.005);
      }),
      { numRuns: cases(40, 100) },
    );
  });

  it('does not change any more once it is steady', () => {
    fc.assert(
      fc.property(machine, anyLoop, (m, loop) => {
        const { plan } = factsOf(simulate(m, loop).events);
        if (plan.steps.includesFirst) return;
        const { step, hostEnd, busyUntil, end } = replaySteady(plan, AS_RECORDED);
        const again = replay(plan, AS_RECORDED, { now: hostEnd, busyUntil, earlierEnds: end });
        expect(Math.abs(again.step / step - 1)).toBeLessThan(0.03);
      }),
      { numRuns: cases(40, 100) },
    );
  });
});
