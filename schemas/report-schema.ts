import { z } from 'zod';
import { TIME_CLASSES } from '../src/facts/time-class.js';
import { bottleneck, confidence, finding, health, problem, ranks } from './finding-schema.js';
import { incident } from './incident-schema.js';
import { energy, money } from './money-schema.js';
import { anyMs, fraction, ms, nameTypes, seconds, typed, us } from './schema-text.js';

/**
 * The report of `whyslow diagnose`, field by field. `npm run schema` makes report.ts and docs/report.schema.json from it, and
 * tests check reports with it. Import types from report.ts.
 */

/** Far above the error of floating-point sums, far below what is printed. */
const SUM_TOLERANCE = 1e-3;

const verdict = z.strictObject({
  bottleneck,
  cause: z.string().describe('short id of what causes it, e.g. num-workers-zero'),
  confidence,
  label: z.string().describe('the answer in a word or two, e.g. Data-bound, Probably data-bound, Unknown'),
  headline: z.string().describe('what it rests on: one clause, with its figures'),
  details: z.array(z.string()).describe('further sentences, without their full stop'),
  sentence: z.string().describe('label, headline and details, joined'),
  second: bottleneck.nullable().describe('a close runner-up; null where the first stands alone'),
  next: z.array(z.string()).describe('what to do next: when the evidence does not decide, what to capture'),
});

const job = z.strictObject({
  wall_s: seconds.min(0).describe('from the start of the process to its end, or to the last record'),
  phases: z
    .array(
      z.strictObject({
        name: z
          .string()
          .describe(
            "steps, start-up, end (after the last step), checkpoint, evaluation, generation, inference, no_grad, logging, gc, compile, or the job's own name",
          ),
        s: seconds.min(0),
        share: fraction.describe('of wall_s; the shares add up to 1'),
        count: z.int().min(0).describe('how often'),
        sampled: z.boolean().describe('true: measured in recorded steps and scaled to all steps'),
      }),
    )
    .describe('where all of it went, largest first; no time counts twice'),
});

const time = z
  .strictObject({
    compute: fraction.describe('GPU computing'),
    comms_transfer: fraction.describe('exposed transfers between ranks'),
    comms_wait: fraction.describe('collectives waiting for a late rank'),
    copy: fraction.describe('exposed copies between host and GPU'),
    idle_data: fraction.describe('GPU idle: waiting for the next batch'),
    idle_sync: fraction.describe('GPU idle: the host synchronized with it, then had to catch up'),
    idle_compile: fraction.describe('GPU idle: something is being compiled'),
    idle_comms: fraction.describe('GPU idle: the host waits in a collective'),
    idle_host: fraction.describe('GPU idle: the host does not launch fast enough'),
    idle_other: fraction.describe('GPU idle for no recorded reason'),
  })
  .refine((t) => {
    const sum = Object.values(t).reduce((a, b) => a + b, 0);
    return sum === 0 || Math.abs(sum - 1) <= SUM_TOLERANCE;
  }, 'the fractions must add up to 1, or all be 0 without steps')
  .meta({
    id: 'time',
    description: 'fractions of the step that add up to 1; all 0 where there are no steps',
  });

const step = z.strictObject({
  ms: ms
    .nullable()
    .describe(
      'step time without the profiler, measured or estimated, including the time between steps; null: no steps were recorded',
    ),
  source: z.enum(['events', 'gpu-timeline', 'host']).describe('what ms was measured with'),
  profiled_ms: ms.nullable().describe('step time as the profiler recorded it; null without a trace'),
  profiled_time: time
    .nullable()
    .describe(
      'how profiled_ms divides, if that names another bottleneck than the estimate without the profiler, or the estimate is at its limit; else null',
    ),
  times_ms: z
    .array(ms)
    .describe(
      'step times that ms is the mean of, in order: what compare needs; of many steps, means of groups of equal length; if unrecorded steps set the pace, means from one recorded step to the next',
    ),
  corrected: z.boolean().describe("true: ms is an estimate, profiled_ms without the profiler's own cost"),
  parts: z
    .array(
      z.strictObject({
        name: z.string(),
        ms,
        between: z.boolean().describe('it is between training steps, not in them'),
      }),
    )
    .describe(
      "parts of ms with a name: time between training steps (checkpoint, evaluation, logging), and the job's own phases on the host",
    ),
  iteration: z
    .strictObject({
      optimizer_steps: z.int().min(1).describe('in one step; the usual number if it varies'),
      optimizers: z.int().min(1),
      backward_passes: z.int().min(0).describe('0: not seen'),
      varies: z.boolean().describe('steps differ in their number of optimizer steps'),
      rollout: z.boolean().describe('it has a stretch in which the model is called without gradients'),
      text: z.string(),
    })
    .register(typed, { type: 'ReportIteration' })
    .nullable()
    .describe(
      'what one step is, if it is more than one optimizer step after one backward pass; null: it is not, or unknown',
    ),
  whole_window: z
    .boolean()
    .describe('true: no steps were found, and everything here is about the whole recording'),
  count: z.int().min(0).describe('number of steps measured'),
  first: z.int().nullable(),
  last: z.int().nullable(),
});

const rank = z.strictObject({
  rank: z.int().min(0),
  host: z.string().nullable(),
  coordinates: z
    .record(z.string(), z.int().min(0))
    .nullable()
    .describe('position in the mesh by axis, e.g. dp'),
  step_ms: ms.nullable(),
  time,
  clock: z
    .strictObject({ offset_us: us, error_us: us.min(0) })
    .nullable()
    .describe('relative to the reference rank; null: not comparable'),
  gpu: z
    .strictObject({
      span_us: us,
      compute_us: us,
      non_compute_us: us,
      idle_us: us,
      comm_overlap: fraction
        .nullable()
        .describe('part of communication hidden by compute; null: there is none'),
    })
    .nullable()
    .describe(
      'interval unions over GPU work, as HTA defines them: with two or more steps, work whose launch was recorded before the end of the last step; null without GPU work',
    ),
});

const manyRanks = z.strictObject({
  ranks: z.int().min(0).describe('how many were measured'),
  files: z.int().min(0).describe('how many were read'),
  groups: z.int().min(0).describe('how many process groups have matched collectives'),
  latest_other_ms: z
    .array(anyMs)
    .describe('for each step of heat: how late the latest rank is that is not listed'),
  axes: z
    .array(
      z.strictObject({
        name: z.string().describe('host, or an axis of the mesh, e.g. pp'),
        values: z.int().min(0).describe('how many different values'),
        latest: z
          .array(
            z.strictObject({
              value: z.string(),
              ranks: z.int().min(0),
              late_ms: anyMs.describe('mean over its ranks and the steps of heat'),
              time,
            }),
          )
          .describe('those whose ranks are latest, at most 16'),
      }),
    )
    .describe('ranks by host and by each axis of the mesh'),
});

const pattern = z.enum(['persistent', 'spike', 'periodic', 'rotating', 'host', 'stage']);
const cause = z.enum(['data', 'gpu', 'host', 'compile', 'link', 'unknown']);

const straggler = z.strictObject({
  ranks: ranks.describe('empty for a rotating imbalance'),
  pattern,
  cause,
  cost_ms: ms.describe('milliseconds per step that the others wait'),
  cost_high_ms: ms
    .nullable()
    .describe('the most that it may cost, if a log does not show how much of the delay is hidden; else null'),
  confidence,
  sentence: z.string(),
});

const collectives = z.strictObject({
  matched: z.int().min(0).describe('collectives found on all captured members'),
  unmatched: z.int().min(0),
  wait_ms: ms.describe('per step, waiting for a late member'),
  transfer_ms: ms.describe('per step, moving data'),
  groups: z.array(
    z.strictObject({
      name: z.string(),
      ranks: ranks.describe('members that were captured'),
      size: z.int().min(0).nullable().describe('number of members; null: not recorded'),
      matched: z.int().min(0),
      confidence: confidence.describe('that the matched collectives belong together'),
      wait_ms: ms,
      transfer_ms: ms,
    }),
  ),
});

const whatIf = z.strictObject({
  actual_s: seconds,
  ideal_s: seconds.describe('the same without stragglers, by replay'),
  slowdown: z.number().describe('actual_s / ideal_s'),
  m_w: z.number().nullable().describe('share of the slowdown that the slowest few workers explain'),
  m_s: z.number().nullable().describe('share of the slowdown that the last pipeline stage explains'),
  cases: z
    .array(
      z.strictObject({
        text: z.string().describe('the change, e.g. without the delay of rank 5'),
        ranks: ranks.describe('the ranks concerned; empty: all'),
        saving_ms: ms.describe('milliseconds saved per step'),
      }),
    )
    .describe('from replaying all ranks; empty if the replay does not reproduce the recorded steps'),
});

const timeClass = z.enum(TIME_CLASSES);

const criticalPath = z.strictObject({
  by_class: time,
  by_rank: z
    .array(
      z.strictObject({
        rank: z.int().min(0),
        share: fraction.describe('share of the path on this rank'),
        mostly: timeClass,
        mostly_ms: ms.describe('per step, of that class'),
      }),
    )
    .describe('largest share first; ranks not on the path are left out'),
  hops: z.number().min(0).describe('changes from one rank to another, per step'),
});

const heat = z.strictObject({
  steps: z.array(z.int()).describe('steps that all ranks have'),
  rows: z.array(
    z.strictObject({
      rank: z.int().min(0),
      late_ms: z.array(anyMs).describe('own time minus that of the median rank, per step'),
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

const hostLine = z.strictObject({
  file: z.string(),
  line: z.int().min(0),
  function: z.string(),
  source: z.string().describe('empty if the file could not be read'),
  share: fraction.describe("of the training thread's time, with the libraries that the line calls"),
  samples: z.int().min(0),
  calls: z.array(z.string()).describe('library functions that ran there, the most frequent first'),
});

const run = z.strictObject({
  id: z.string(),
  command: z.string().nullable(),
  started: z.string().nullable().describe('ISO 8601, UTC'),
  ranks: z.int().min(0),
  analyzed: z.boolean().describe('the report is about this run'),
});

const hardware = z
  .strictObject({
    device: z.string().nullable().describe('as the driver names it'),
    peaks: z.string().nullable().describe('whose peaks are meant, and their source; null: not in the table'),
    text: z
      .array(z.string())
      .describe('how far the step is from the hardware: sentences without their full stop'),
    mfu: fraction
      .nullable()
      .describe('arithmetic of products, convolutions and attention at the peak, of the step; null: unknown'),
    at_most: z
      .number()
      .min(0)
      .nullable()
      .describe(
        'how many times faster the same kernels could make the step at the peak, without gaps between them',
      ),
    reachable: z.number().min(0).nullable().describe('the same at the rates that good kernels reach'),
    done: z.boolean().describe('neither a fix nor a kernel promises 5%'),
    gaps_ms: ms.describe('per step, time in which the device has nothing queued'),
    unknown: fraction.describe('of the GPU time, work whose shapes are not known'),
    kinds: z
      .array(
        z.strictObject({
          kind: z.enum(['products', 'convolutions', 'attention', 'streaming']),
          precision: z.string().describe('unknown for streaming: elementwise kernels, reductions, copies'),
          ms: ms.describe('per step'),
          tflops: z.number().min(0).describe('10¹² operations per second; 0 for streaming'),
          gbps: z.number().min(0).describe('least memory traffic, 10⁹ bytes per second'),
          of_peak: z
            .number()
            .min(0)
            .nullable()
            .describe('above 1 where caches serve the traffic; null: unknown'),
        }),
      )
      .describe('empty: no shapes were recorded'),
    kernels: z
      .array(
        z.strictObject({
          text: z.string(),
          operator: z.string().nullable(),
          kernel: z.string(),
          shapes: z.string().describe('of its inputs, or the grid of its launches; empty: not recorded'),
          ms: ms.describe('per step'),
          calls: z.number().min(0).describe('per step'),
          tflops: z.number().min(0).nullable(),
          gbps: z.number().min(0).nullable(),
          bound: z.enum(['compute', 'memory']).nullable().describe('what paces it at best'),
          of_limit: z.number().min(0).nullable().describe('of what the device can do at most for it'),
        }),
      )
      .describe(
        'the three to look at: what is furthest from its limit; without shapes, what takes most time',
      ),
  })
  .describe('how far the step is from what its GPU can do');

const silentRule = z.strictObject({ rule: z.string(), reason: z.string() });

export const reportSchema = z
  .strictObject({
    schema: z.literal('whyslow/report/1'),
    verdict,
    job: job.nullable().describe('all of the wall time of one process; null: not recorded'),
    step,
    time,
    findings: z.array(finding).describe('in the order to try them'),
    hardware: hardware.nullable().describe('null: no GPU work was recorded'),
    silent: z.array(silentRule).describe('rules that did not fire, and why'),
    host_lines: z
      .array(hostLine)
      .describe('lines of the job that hold the host, largest share first; empty if not sampled'),
    ranks: z.array(rank).describe('every rank; of more than 256 the odd ones, see many_ranks'),
    many_ranks: manyRanks
      .nullable()
      .describe(
        'null up to 256 ranks, or with --all; otherwise ranks, heat, inputs and collectives.groups list what stands out',
      ),
    stragglers: z.array(straggler),
    incidents: z
      .array(incident)
      .describe('lasting changes that `whyslow watch` or `run --watch` found while the run went on'),
    money: money.nullable().describe('null without --price'),
    energy: energy.nullable().describe('from recorded power; null: it is not known of every rank'),
    heat: heat.nullable().describe('how late each rank is in each step; null for a single rank'),
    critical_path: criticalPath
      .nullable()
      .describe('what set the pace, followed through all ranks; null for a single rank'),
    collectives: collectives.nullable().describe('null: no collectives could be matched'),
    what_if: whatIf.nullable().describe('the run without stragglers; null: it cannot be replayed'),
    runs: z
      .array(run)
      .describe('the runs that the files belong to, oldest first; empty if the files do not say'),
    inputs: z.array(input),
    ignored: z.array(z.string()).describe('files in searched directories that whyslow does not recognize'),
    health,
    tool: z.strictObject({ name: z.literal('whyslow'), version: z.string() }),
  })
  .describe('What `whyslow diagnose --json` prints');

nameTypes({
  Report: reportSchema,
  ReportJob: job,
  ReportStep: step,
  TimeShares: time,
  ReportRank: rank,
  ReportManyRanks: manyRanks,
  ReportStraggler: straggler,
  ReportCollectives: collectives,
  ReportWhatIf: whatIf,
  ReportPath: criticalPath,
  ReportHeat: heat,
  ReportInput: input,
  ReportLine: hostLine,
  ReportRun: run,
  ReportHardware: hardware,
});
nameTypes({ Verdict: verdict }, 'answers/kit/claim');
nameTypes({ Pattern: pattern, LateCause: cause }, 'run/lateness/late-ranks');
nameTypes({ TimeClass: timeClass }, 'facts/time-class');
