import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { diagnose } from '../../src/library/diagnose.js';
import type { Report } from '../../src/report/report.js';

/** Public traces and what HTA 0.6.1 says about them; not part of the project. */
const PEERS = fileURLToPath(new URL('../../../shared/peers/', import.meta.url));
const here = existsSync(join(PEERS, 'expected'));
if (!here) console.warn('../shared/peers is not here: nothing is compared with HTA');

/** HTA rounds fractions of a microsecond before it adds them up: only traces with whole ones can be equal. */
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
  const known = reports.get(trace) ?? diagnose([join(PEERS, trace)], { steps: null, ranks: null, jobs: 1 });
  reports.set(trace, known);
  return known;
}

// One suite for all: without the traces it must not be empty, and must not count as skipped.
describe('public traces', () => {
  it('are named once each', () => {
    expect(new Set(INTEGER_TRACES.flat()).size).toBe(INTEGER_TRACES.length * 2);
  });

  it.each(here ? INTEGER_TRACES : [])('%s: unions equal HTA’s to the microsecond', async (name, trace) => {
    const file = join(PEERS, 'expected', name, 'with_last_step/temporal_breakdown.json');
    const expected = JSON.parse(readFileSync(file, 'utf8')) as Breakdown[];
    const { ranks } = await report(trace);
    const ours = ranks.map(({ rank, gpu }) => ({
      ...{ rank, 'idle_time(us)': gpu!.idle_us, 'compute_time(us)': gpu!.compute_us },
      ...{ 'non_compute_time(us)': gpu!.non_compute_us, 'kernel_time(us)': gpu!.span_us },
    }));
    const inUs = (b: Breakdown) =>
      Object.entries(b).filter(([key]) => key === 'rank' || key.endsWith('(us)'));
    expect(ours).toEqual(expected.map((b) => Object.fromEntries(inUs(b))));
  });

  const samples = [
    ['without workers is held up by input, and workers are the first fix', 'num_workers_0', true],
    ['with four workers is not', 'num_workers_4', false],
  ] as const;
  it.each(here ? samples : [])('ResNet-50 of Kineto %s', async (_, trace, dataBound) => {
    const { verdict, findings } = await report(`kineto/resnet50_${trace}`);
    expect(verdict.bottleneck === 'data').toBe(dataBound);
    expect(findings[0]?.rule === 'T4').toBe(dataBound);
  });
});
