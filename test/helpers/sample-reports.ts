import type { Plain } from '../../src/base/units.js';
import { totals } from '../../src/facts/time-class.js';
import type { Report, ReportRank, ReportStep, TimeShares } from '../../src/report/report.js';
import type { Finding } from '../../src/rules/kit/finding.js';

/** Classes that are not named take no time. */
export const shares = (some: Partial<Plain<TimeShares>>) =>
  totals((c) => some[c] ?? 0) as unknown as TimeShares;

export function sampleFinding(more: Partial<Plain<Finding>> = {}): Finding {
  return {
    id: 'num-workers-zero',
    rule: 'T4',
    title: 'num_workers=0 loads every batch on the main thread',
    cost: 'knob',
    risk: 'memory',
    speedup: { low: 8.1, likely: 9.4, high: 11 },
    saving_ms: 143.9,
    confidence: 0.9,
    ranks: [0],
    evidence: [
      {
        text: '_SingleProcessDataLoaderIter: 149 ms/step exposed, 3 of 3 steps',
        value: 149,
        unit: 'ms/step',
        rank: 0,
        step: 4,
        ts_ns: 1_000_000,
        dur_ns: 149_000_000,
      },
    ],
    fix: {
      text: 'Start at one worker a core, less one, and watch the memory each takes.',
      code: 'DataLoader(..., num_workers=8, persistent_workers=True)',
    },
    further: null,
    addresses: 'data',
    ...more,
  } as Finding;
}

export function sampleRank(rank: number, more: Partial<Plain<ReportRank>> = {}): ReportRank {
  return {
    rank,
    host: `node-${rank >> 3}`,
    coordinates: { dp: rank },
    step_ms: 161,
    time: shares({ compute: 0.25, comms_wait: 0.75 }),
    clock: { offset_us: 12.5, error_us: 0.8 },
    gpu: { span_us: 483_000, compute_us: 24_000, non_compute_us: 3000, idle_us: 456_000, comm_overlap: null },
    ...more,
  } as ReportRank;
}

/** The step of a report without any. */
export const NO_STEP: ReportStep = {
  ms: null,
  source: 'host',
  profiled_ms: null,
  profiled_time: null,
  times_ms: [],
  corrected: false,
  parts: [],
  iteration: null,
  whole_window: false,
  count: 0,
  first: null,
  last: null,
};

/** A loop that waits for its data. */
export function sampleReport(more: Partial<Plain<Report>> = {}): Report {
  const time = shares({ compute: 0.05, idle_data: 0.924, copy: 0.006, idle_host: 0.02 });
  return {
    schema: 'whyslow/report/1',
    verdict: {
      bottleneck: 'data',
      cause: 'num-workers-zero',
      confidence: 0.93,
      label: 'Data-bound',
      headline: 'the GPU spends 92% of every step waiting for input',
      details: [],
      sentence: 'Data-bound: the GPU spends 92% of every step waiting for input',
      second: null,
      next: [],
    },
    job: {
      wall_s: 60,
      phases: [
        { name: 'steps', s: 45, share: 0.75, count: 280, sampled: false },
        { name: 'start-up', s: 15, share: 0.25, count: 1, sampled: false },
      ],
    },
    step: {
      ms: 161,
      source: 'gpu-timeline',
      profiled_ms: 163,
      profiled_time: null,
      times_ms: [159, 163, 161],
      corrected: true,
      parts: [],
      iteration: null,
      whole_window: false,
      count: 3,
      first: 3,
      last: 5,
    },
    time,
    findings: [sampleFinding()],
    silent: [{ rule: 'T5', reason: 'no epoch ended inside the trace' }],
    host_lines: [],
    ranks: [sampleRank(0, { time, coordinates: null, clock: null })],
    stragglers: [],
    incidents: [],
    money: null,
    energy: null,
    heat: null,
    many_ranks: null,
    critical_path: null,
    collectives: null,
    what_if: null,
    hardware: null,
    runs: [],
    inputs: [
      { path: 'runs/a/rank0.json.gz', kind: 'kineto', rank: 0, bytes: 120_000, events: 6732, problems: [] },
    ],
    ignored: [],
    health: { grade: 'good', problems: [] },
    tool: { name: 'whyslow', version: '0.1.0' },
    ...more,
  } as Report;
}
