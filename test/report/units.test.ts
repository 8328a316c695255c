import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { diagnose } from '../../src/library/diagnose.js';
import { inspect } from '../../src/library/inspect.js';
import { inTurn, steps } from '../helpers/draw-trace.js';
import { writeDrawnRun } from '../helpers/drawn-run.js';
import { inFolder } from '../helpers/folder.js';
import { HEADER, steps as logSteps } from '../helpers/logs.js';

/** Every field whose name has a unit, with a value worked out by hand. Drawings are in µs. */

describe('four ranks, one of them 3 ms late, one with a clock that is 250 µs ahead', () => {
  /** 20 ms: the GPU computes from 0.02 ms on, then reduces until 19.98 ms. */
  const rank = (computedAt: number) =>
    steps(
      8,
      20_000,
      `host 1  ProfilerStep#1 0-20000 | cudaLaunchKernel 0-5 #1 | cudaLaunchKernel 10-15 #2
       host 1  cudaDeviceSynchronize 20-19990
       gpu 7   nvjet_tst_256 20-${computedAt} #1
       gpu 20  ncclDevKernel_AllReduce_Sum_f32_RING_LL ${computedAt}-19980 #2`,
    );
  const diagnosed = () =>
    inFolder((folder) => {
      writeDrawnRun(folder, [
        { drawing: rank(10_000) },
        { drawing: rank(10_000), clockUs: 250 },
        { drawing: rank(9_000) },
        { drawing: rank(13_000) },
      ]);
      return diagnose([folder], { jobs: 1 });
    });

  it('step: as recorded 20 ms; without the profiler hardly less, for few events were recorded', async () => {
    const report = await diagnosed();
    // The first step has nothing before it, so where it begins is not known.
    expect(report.step).toMatchObject({ profiled_ms: 20, corrected: true, count: 7, first: 2, last: 8 });
    expect(report.step.ms).toBeGreaterThan(19.9);
    expect(report.step.ms).toBeLessThan(20);
    for (const { step_ms } of report.ranks) expect(step_ms).toBe(report.step.ms);
  });

  it('clocks: 250 µs ahead of the reference, and 0; known to a fraction of a µs', async () => {
    const report = await diagnosed();
    expect(report.ranks.map((r) => r.clock!.offset_us)).toEqual([0, 250, 0, 0]);
    expect(report.ranks[0]!.clock!.error_us).toBe(0);
    for (const { clock } of report.ranks.slice(1)) {
      expect(clock!.error_us).toBeGreaterThan(0);
      expect(clock!.error_us).toBeLessThanOrEqual(1);
    }
  });

  it('stragglers: 3 ms after the next ones', async () => {
    const report = await diagnosed();
    expect(report.stragglers).toMatchObject([
      { ranks: [3], pattern: 'persistent', cause: 'gpu', cost_ms: 3 },
    ]);
  });

  it('heat: from the median rank’s own time, in each step', async () => {
    const report = await diagnosed();
    const seven = (ms: number) => Array.from({ length: 7 }, () => ms);
    expect(report.heat).toEqual({
      steps: [2, 3, 4, 5, 6, 7, 8],
      rows: [
        { rank: 0, late_ms: seven(0) },
        { rank: 1, late_ms: seven(0) },
        { rank: 2, late_ms: seven(-1) },
        { rank: 3, late_ms: seven(3) },
      ],
    });
  });

  it('critical path: all of it is the late rank’s, which computes for 12.98 ms and transfers for 6.98 ms', async () => {
    const report = await diagnosed();
    const { by_rank, by_class, hops } = report.critical_path!;
    expect(by_rank).toEqual([{ rank: 3, share: 1, mostly: 'compute', mostly_ms: 12.98 }]);
    expect(by_class.compute).toBeCloseTo(12.98 / 20, 9);
    expect(by_class.comms_transfer).toBeCloseTo(6.98 / 20, 9);
    expect(hops).toBe(0);
  });

  it('collectives: waiting 3, 3, 4 and 0 ms, then 6.98 ms of transfer', async () => {
    const report = await diagnosed();
    const both = { wait_ms: 2.5, transfer_ms: 6.98 };
    expect(report.collectives).toMatchObject({ matched: 8, unmatched: 0, ...both });
    expect(report.collectives!.groups).toMatchObject([{ ranks: [0, 1, 2, 3], size: 4, matched: 8, ...both }]);
    expect(report.ranks.map((r) => r.time.comms_wait * 20).map((ms) => Math.round(100 * ms) / 100)).toEqual([
      3, 3, 4, 0,
    ]);
  });

  it('what-if: 20 ms per step, 17 ms without the delay', async () => {
    const report = await diagnosed();
    const { cases, ...whole } = report.what_if!;
    expect(whole).toEqual({ actual_s: 0.02, ideal_s: 0.017, slowdown: 20 / 17, m_w: 1, m_s: null });
    expect(cases.map((c) => [c.ranks, c.saving_ms])).toEqual([
      [[3], 3],
      [[], 6.98],
    ]);
  });

  it('findings: the late rank, with 3 ms to win back', async () => {
    const report = await diagnosed();
    const [late] = report.findings;
    expect(late).toMatchObject({ rule: 'W1', ranks: [3] });
    expect(late!.evidence[0]).toMatchObject({ value: 3, unit: 'ms/step', rank: 3 });
    expect(late!.speedup!.likely).toBeCloseTo(20 / 17, 2);
    expect(late!.saving_ms).toBeCloseTo(3, 1);
  });
});

describe('one rank that copies 256 MB per step at 5.4 GB/s', () => {
  /** The copy, 10 ms of computing, and 2 ms of communication, half of it covered by computing. */
  const step = (copied: number) =>
    [
      `host 1  ProfilerStep#1 0-${copied + 11_100} | aten::copy_ 0-${copied} | cudaMemcpyAsync 10-${copied} #1
       host 1  cudaLaunchKernel ${copied + 20}-${copied + 30} #2 | cudaLaunchKernel ${copied + 40}-${copied + 50} #3
       gpu 7   Memcpy HtoD (Pageable -> Device) 100-${copied} #1 bytes=268435456
       gpu 7   nvjet_tst_256 ${copied + 100}-${copied + 10_100} #2
       gpu 20  ncclDevKernel_AllReduce_Sum_f32_RING_LL ${copied + 9_100}-${copied + 11_100} #3`,
      copied + 11_100,
    ] as const;
  /** The third copy takes 1 ms longer. */
  const drawing = inTurn(...[50_000, 50_000, 51_000, 50_000, 50_000, 50_000].map(step));
  /** The log: 20 steps of 55 ms, measured without the profiler. */
  const log = `${[HEADER, ...logSteps(1, 20, () => ['training_step 55 gpu'])].join('\n')}\n`;

  const found = () =>
    inFolder(async (folder) => {
      writeDrawnRun(folder, [{ drawing }]);
      writeFileSync(join(folder, 'events.jsonl'), log);
      return {
        bytes: { log: Buffer.byteLength(log), trace: statSync(join(folder, 'rank0.json')).size },
        report: await diagnose([folder], { jobs: 1 }),
        inspected: await inspect([folder], { jobs: 1 }),
      };
    });

  it('step: 55 ms by the log; the trace has four steps of 61.1 ms and one of 62.1 ms', async () => {
    const { report } = await found();
    expect(report.step).toMatchObject({ ms: 55, source: 'events', profiled_ms: 61.3, corrected: false });
    expect(report.ranks.map((r) => r.step_ms)).toEqual([55]);
  });

  it('gpu: unions over all six steps', async () => {
    const { report } = await found();
    // Computing 6 × 10 ms. Copies 5 × 49.9 ms and 50.9 ms, and 6 × 1 ms of communication that is not covered.
    // Idle: 0.1 ms between copy and kernel, and 0.1 ms before the copy in all steps but the first.
    expect(report.ranks[0]!.gpu).toEqual({
      span_us: 367_500,
      compute_us: 60_000,
      non_compute_us: 306_400,
      idle_us: 1100,
      comm_overlap: 0.5,
    });
  });

  it('findings: the longest copy with its position and length, and what pinned memory saves', async () => {
    const { report } = await found();
    const copies = report.findings.find((f) => f.rule === 'T6')!;
    // Two steps of 61.1 ms, and 0.1 ms into the third. Copies take 49.9 ms in five steps and 50.9 ms in one.
    expect(copies.evidence[0]).toMatchObject({
      value: 50.067,
      unit: 'ms/step',
      ts_ns: 122_300_000,
      dur_ns: 50_900_000,
    });
    // At 85% of 63 GB/s the copy takes 5.01 ms, and it no longer waits for communication. With 10 ms of computing 15.01 ms
    // of the 61.3 ms are left, and as much of the 55 ms.
    expect(Math.abs(copies.saving_ms! / (55 * (1 - 15.01 / 61.3)) - 1)).toBeLessThan(0.005);
    expect(copies.saving_ms).toBeCloseTo(55 * (1 - 1 / copies.speedup!.likely), 1);
  });

  it('inputs: bytes as stored', async () => {
    const { report, bytes } = await found();
    expect(report.inputs.map((i) => [i.kind, i.bytes, i.events])).toEqual([
      ['events', bytes.log, 20],
      ['kineto', bytes.trace, 6 * 8],
    ]);
  });

  it('inspect: windows and steps in ms, reading in bytes and MB/s', async () => {
    const { inspected, bytes } = await found();
    const [events, trace] = inspected.inputs;
    expect(trace).toMatchObject({ bytes: bytes.trace, decoded_bytes: bytes.trace, window_ms: 367.6 });
    expect(trace!.steps.map((s) => s.hostMs)).toEqual([61.1, 61.1, 62.1, 61.1, 61.1, 61.1]);
    expect(events!.event_log!.runs[0]!.phases).toEqual([
      { name: 'training_step', records: 20, medianMs: 55 },
    ]);
    const { reading } = inspected;
    expect(reading).toMatchObject({ stored_bytes: bytes.log + bytes.trace, events: 20 + 48 });
    expect(reading.decoded_bytes).toBe(reading.stored_bytes);
    expect(reading.seconds).toBeLessThan(60);
    expect((reading.mb_per_s * reading.seconds) / (reading.decoded_bytes / 1e6)).toBeCloseTo(1, 9);
  });
});
