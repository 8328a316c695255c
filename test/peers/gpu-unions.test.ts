import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { diagnose } from '../../src/library/diagnose.js';
import type { Report } from '../../src/report/report.js';
import { describeWithShared, SHARED } from '../helpers/shared.js';

/** Public traces and what HTA 0.6.1 says about them. */
const PEERS = join(SHARED, 'peers');
const OURS = fileURLToPath(new URL('../..', import.meta.url));

/** HTA rounds to whole microseconds before it adds up: only traces with whole ones can give equal sums. */
const INTEGER_TRACES: readonly (readonly [expected: string, trace: string])[] = [
  ['kineto_resnet50_nw0_a', 'kineto/resnet50_num_workers_0'],
  ['kineto_resnet50_nw4_a', 'kineto/resnet50_num_workers_4'],
  ['hta_cpa_alexnet_a100', 'hta/critical_path/alexnet'],
  ['hta_cpa_event_sync', 'hta/critical_path/cuda_event_sync'],
  ['hta_cpa_simple_add_a100', 'hta/critical_path/simple_add'],
  ['hta_df_index_resolver_v100_w2_rank1', 'hta/df_index_resolver'],
  ['hta_negq_a100_w16_rank0', 'hta/negative_queue_length_values_check'],
  ['hta_trace_diff_control_a100_w8_rank3', 'hta/trace_diff/control'],
  ['hta_trace_diff_test_v100_w2_rank1', 'hta/trace_diff/test'],
  ['hta_trace_filter_sampled_w128_ranks01', 'hta/trace_filter'],
];

interface Breakdown {
  readonly rank: number;
  readonly 'idle_time(us)': number;
  readonly 'compute_time(us)': number;
  readonly 'non_compute_time(us)': number;
  readonly 'kernel_time(us)': number;
}

const reports = new Map<string, Promise<Report>>();
function report(trace: string): Promise<Report> {
  const known = reports.get(trace) ?? diagnose([trace], { steps: null, ranks: null, jobs: 1 });
  reports.set(trace, known);
  return known;
}

const breakdownsOf = ({ ranks }: Report): Breakdown[] =>
  ranks.map(({ rank, gpu }) => ({
    rank,
    'idle_time(us)': gpu!.idle_us,
    'compute_time(us)': gpu!.compute_us,
    'non_compute_time(us)': gpu!.non_compute_us,
    'kernel_time(us)': gpu!.span_us,
  }));

describeWithShared('peers', 'public traces', () => {
  it.each(INTEGER_TRACES)('%s: unions equal HTA’s to the microsecond', async (name, trace) => {
    const file = join(PEERS, 'expected', name, 'with_last_step/temporal_breakdown.json');
    const expected = JSON.parse(readFileSync(file, 'utf8')) as Breakdown[];
    const inUs = (b: Breakdown) =>
      Object.entries(b).filter(([key]) => key === 'rank' || key.endsWith('(us)'));
    const ours = breakdownsOf(await report(join(PEERS, trace)));
    expect(ours).toEqual(expected.map((b) => Object.fromEntries(inUs(b))));
  });

  it.each([
    ['without workers is data-bound, and workers are the first fix', 'num_workers_0', true],
    ['with four workers is not', 'num_workers_4', false],
  ] as const)('ResNet-50 of Kineto %s', async (_, trace, dataBound) => {
    const { verdict, findings } = await report(join(PEERS, `kineto/resnet50_${trace}`));
    expect(verdict.bottleneck === 'data').toBe(dataBound);
    expect(findings[0]?.rule === 'T4').toBe(dataBound);
  });
});

describe('our own traces', () => {
  const SAMPLES = [
    'zoo/fixtures/data_io_w0',
    'zoo/fixtures/h2d_pageable',
    'zoo/fixtures/adam_forloop',
    'test/fixtures/zoo-ranks/straggler_gpu',
  ];
  it.each(SAMPLES)('%s: unions equal those of a painted timeline', async (folder) => {
    const found = breakdownsOf(await report(join(OURS, folder)));
    expect(found.length).toBeGreaterThan(0);
    for (const [i, ours] of found.entries())
      expect(ours).toEqual(paintedBreakdown(join(OURS, folder, `rank${i}.json.gz`), ours.rank));
  });

  it('that load on the training thread are data-bound, and workers are the first fix', async () => {
    const { verdict, findings } = await report(join(OURS, 'zoo/fixtures/data_io_w0'));
    expect(verdict.bottleneck).toBe('data');
    expect(findings[0]!.rule).toBe('T4');
  });
});

interface PlainEvent {
  readonly ph: string;
  readonly cat?: string;
  readonly name: string;
  readonly ts: number;
  readonly dur: number;
  readonly args?: { readonly correlation?: number; readonly stream?: number };
}

/** HTA's breakdown in the plainest way: cut the timeline at every start and end, and look at each piece. */
function paintedBreakdown(file: string, rank: number): Breakdown {
  const { traceEvents } = JSON.parse(gunzipSync(readFileSync(file)).toString()) as {
    traceEvents: PlainEvent[];
  };
  // In whole nanoseconds: adding up fractions of microseconds would lose digits.
  const ns = (us: number) => Math.round(us * 1000);
  const all = traceEvents.filter((e) => e.ph === 'X').map((e) => ({ ...e, ts: ns(e.ts), dur: ns(e.dur) }));
  const marks = all.filter((e) => e.cat === 'user_annotation' && e.name.startsWith('ProfilerStep#'));
  const until = Math.max(...marks.map((m) => m.ts + m.dur));
  const launched = new Set(
    all
      .filter((e) => /^cuda_(runtime|driver)$/.test(e.cat ?? '') && e.ts <= until)
      .map((e) => e.args?.correlation),
  );
  const work = all.filter(
    (e) => /^(kernel|gpu_memcpy|gpu_memset)$/.test(e.cat ?? '') && launched.has(e.args?.correlation),
  );
  const edges = [...new Set(work.flatMap((e) => [e.ts, e.ts + e.dur]))].sort((a, b) => a - b);
  const computing = (e: PlainEvent) => e.cat === 'kernel' && !/nccl/i.test(e.name);
  let [compute, other] = [0, 0];
  const active = new Set<PlainEvent>();
  const byStart = work.toSorted((a, b) => a.ts - b.ts);
  let next = 0;
  for (let i = 0; i + 1 < edges.length; i++) {
    while (next < byStart.length && byStart[next]!.ts <= edges[i]!) active.add(byStart[next++]!);
    for (const e of active) if (e.ts + e.dur <= edges[i]!) active.delete(e);
    const length = edges[i + 1]! - edges[i]!;
    if ([...active].some(computing)) compute += length;
    else if (active.size > 0) other += length;
  }
  const span = edges.at(-1)! - edges[0]!;
  return {
    rank,
    'idle_time(us)': (span - compute - other) / 1000,
    'compute_time(us)': compute / 1000,
    'non_compute_time(us)': other / 1000,
    'kernel_time(us)': span / 1000,
  };
}
