import { z } from 'zod';
import { bottleneck, confidence, finding, health, problem, ranks } from './finding-schema.js';

/**
 * The report of `whyslow diagnose`, once: types (report.ts), docs/report.schema.json and the tests come from here.
 * The program itself never loads this file, nor zod: import types from report.ts.
 */

const ms = z.number().min(0);
const fraction = z.number().min(0).max(1);
/** Fractions are summed in floating point; this is far above its error and far below what is printed. */
const SUM_TOLERANCE = 1e-3;

const verdict = z.strictObject({
  bottleneck,
  cause: z.string().describe('short id of what causes it, e.g. num-workers-zero'),
  confidence,
  sentence: z.string().describe('the answer for a person'),
  second: bottleneck.nullable().describe('a close runner-up; null where the first stands alone'),
  next: z.array(z.string()).describe('what to capture next when the evidence does not decide'),
});

const step = z.strictObject({
  ms: ms.nullable().describe('one step without the profiler, as well as known; null: no steps were seen'),
  source: z.enum(['events', 'gpu-timeline', 'host']).describe('which clock ms was read from'),
  profiled_ms: ms.nullable().describe('one step as the profiler recorded it; null without a trace'),
  corrected: z.boolean().describe("whether ms is profiled_ms less an estimate of the profiler's own cost"),
  count: z.int().min(0).describe('steps it was measured on'),
  first: z.int().nullable(),
  last: z.int().nullable(),
});

const time = z
  .strictObject({
    compute: fraction.describe('GPU computing'),
    comms_transfer: fraction.describe('exposed transfers between ranks'),
    comms_wait: fraction.describe('collectives waiting for a late rank'),
    copy: fraction.describe('exposed copies between host and GPU'),
    idle_data: fraction.describe('GPU idle: the next batch is not there'),
    idle_sync: fraction.describe('GPU idle: the host waited for it, then had to catch up'),
    idle_compile: fraction.describe('GPU idle: something is being compiled'),
    idle_comms: fraction.describe('GPU idle: the host is held in a collective'),
    idle_host: fraction.describe('GPU idle: the host does not launch fast enough'),
    idle_other: fraction.describe('GPU idle for no reason that was seen'),
  })
  .refine((t) => {
    const sum = Object.values(t).reduce((a, b) => a + b, 0);
    return sum === 0 || Math.abs(sum - 1) <= SUM_TOLERANCE;
  }, 'the fractions must add up to 1, or all be 0 without steps')
  .meta({
    id: 'time',
    description: 'fractions of the step that add up to 1; all 0 where there are no steps',
  });

const rank = z.strictObject({
  rank: z.int().min(0),
  host: z.string().nullable(),
  coordinates: z.record(z.string(), z.int().min(0)).nullable().describe('place in the mesh by axis, e.g. dp'),
  step_ms: ms.nullable(),
  time,
  clock: z
    .strictObject({ offset_us: z.number(), error_us: z.number().min(0) })
    .nullable()
    .describe('against the reference rank; null: not comparable'),
  gpu: z
    .strictObject({
      span_us: z.number(),
      compute_us: z.number(),
      non_compute_us: z.number(),
      idle_us: z.number(),
      comm_overlap: fraction
        .nullable()
        .describe('part of communication hidden by compute; null: there is none'),
    })
    .nullable()
    .describe('interval unions over all GPU work in the file; null without GPU work'),
});

const straggler = z.strictObject({
  ranks: ranks.describe('empty for a rotating imbalance'),
  pattern: z.enum(['persistent', 'spike', 'periodic', 'rotating', 'host', 'stage']),
  cause: z.enum(['data', 'gpu', 'host', 'compile', 'link', 'unknown']),
  cost_ms: ms.describe('milliseconds a step the others wait for it'),
  confidence,
  sentence: z.string(),
});

const collectives = z.strictObject({
  matched: z.int().min(0).describe('collectives found on all captured members'),
  unmatched: z.int().min(0),
  wait_ms: ms.describe('a step, waiting for a late member'),
  transfer_ms: ms.describe('a step, moving data'),
  groups: z.array(
    z.strictObject({
      name: z.string(),
      ranks: ranks.describe('members that were captured'),
      size: z.int().min(0).nullable().describe('members it has in all; null where the traces do not say'),
      matched: z.int().min(0),
      confidence: confidence.describe('that what was matched belongs together'),
      wait_ms: ms,
      transfer_ms: ms,
    }),
  ),
});

const whatIf = z.strictObject({
  actual_s: z.number(),
  ideal_s: z.number().describe('replayed without stragglers'),
  slowdown: z.number().describe('actual_s / ideal_s'),
  m_w: z.number().nullable().describe('share of the slowdown that the slowest few workers explain'),
  m_s: z.number().nullable().describe('share of the slowdown that the last pipeline stage explains'),
  cases: z
    .array(
      z.strictObject({
        text: z.string().describe('what is done away with, e.g. without the delay of rank 5'),
        ranks: ranks.describe('whose; empty where it is nobody’s'),
        saving_ms: ms.describe('milliseconds a step that all take less'),
      }),
    )
    .describe('from playing the recorded steps of all ranks; empty where that does not reproduce them'),
});

const criticalPath = z.strictObject({
  by_class: time,
  by_rank: z
    .array(
      z.strictObject({
        rank: z.int().min(0),
        share: fraction.describe('of the path that is this rank’s time'),
        mostly: z.enum(Object.keys(time.shape) as [keyof typeof time.shape, ...(keyof typeof time.shape)[]]),
        mostly_ms: ms.describe('a step, of that class'),
      }),
    )
    .describe('most first; ranks that are not on it are left out'),
  hops: z.number().min(0).describe('from one rank to another, a step'),
});

const heat = z.strictObject({
  steps: z.array(z.int()).describe('steps that all ranks have'),
  rows: z.array(
    z.strictObject({
      rank: z.int().min(0),
      late_ms: z.array(z.number()).describe("own time above the median rank's, each step; below it negative"),
    }),
  ),
});

const input = z.strictObject({
  path: z.string(),
  kind: z.string().describe('kineto, events, dmon, …'),
  rank: z.int().min(0).nullable(),
  bytes: z.number().min(0).describe('as stored'),
  events: z.int().min(0),
  problems: z.array(problem),
});

const silentRule = z.strictObject({ rule: z.string(), reason: z.string() });

export const reportSchema = z
  .strictObject({
    schema: z.literal('whyslow/report/1'),
    verdict,
    step,
    time,
    findings: z.array(finding).describe('in the order to try them'),
    silent: z.array(silentRule).describe('rules that looked and did not fire, and why'),
    ranks: z.array(rank),
    stragglers: z.array(straggler),
    heat: heat.nullable().describe('who is late when; null for a single rank'),
    critical_path: criticalPath
      .nullable()
      .describe('what set the pace, walked back through all ranks; null for a single rank'),
    collectives: collectives.nullable().describe('null where ranks had nothing in common to match'),
    what_if: whatIf.nullable().describe('the run without stragglers; null where it cannot be replayed'),
    inputs: z.array(input),
    ignored: z.array(z.string()).describe('files in searched directories that are nothing whyslow reads'),
    health,
    tool: z.strictObject({ name: z.literal('whyslow'), version: z.string() }),
  })
  .describe('What `whyslow diagnose --json` prints');
