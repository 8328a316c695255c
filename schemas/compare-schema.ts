import { z } from 'zod';
import { TIME_CLASSES } from '../src/facts/time-class.js';
import { speedup } from './finding-schema.js';
import { anyMs, fraction, ms, nameTypes, typed } from './schema-text.js';

/**
 * What `whyslow compare --json` prints, field by field. `npm run schema` makes compare-report.ts and docs/compare.schema.json
 * from it, and tests check comparisons with it. Import types from compare-report.ts.
 */

const missing = 'null: the side does not have it';

const step = z.strictObject({
  before_ms: ms.describe('mean step before, without rare pauses'),
  after_ms: ms,
  speedup: speedup.describe(
    'time before divided by time after, per step or sample; low and high: the interval',
  ),
  level: z.number().min(0).max(1).describe('of the interval, e.g. 0.95'),
  per: z.enum(['step', 'sample']).describe('sample: the sides have different batch sizes'),
  more_steps: z
    .int()
    .min(0)
    .nullable()
    .describe(
      'to record on each side to distinguish this difference from noise; null: more steps do not help',
    ),
  more_runs: z
    .int()
    .min(0)
    .nullable()
    .describe('runs needed on each side; null: runs are not what is missing'),
});

const changedTime = z.strictObject({
  name: z.string(),
  before_ms: ms.nullable().describe(missing),
  after_ms: ms.nullable().describe(missing),
});

const workChange = z.enum(['new', 'gone', 'longer', 'shorter', 'more-often', 'less-often', 'reshaped']);

const changedWork = z.strictObject({
  name: z.string(),
  shape: z.string().nullable().describe('grid of the launches; null: all of them, or none was recorded'),
  change: workChange.describe('reshaped: on both sides, but with other grids'),
  before_ms: ms,
  after_ms: ms,
  before_count: z.number().min(0).describe('calls per step'),
  after_count: z.number().min(0),
});

const changedLine = changedTime.extend({
  name: z.string().describe('file:line, as it is after'),
  function: z.string(),
  source: z.string(),
  before_share: fraction.nullable().describe('of the training thread'),
  after_share: fraction.nullable(),
});

const finding = z.strictObject({
  id: z.string(),
  rule: z.string(),
  title: z.string(),
  speedup: speedup.nullable(),
  saving_ms: anyMs.nullable(),
});

const findings = z.strictObject({
  gone: z.array(finding).describe('before only'),
  new: z.array(finding).describe('after only'),
  predicted: z.array(
    z.strictObject({
      rule: z.string(),
      id: z.string(),
      speedup: speedup.describe('predicted gain of fixing it'),
      measured: z
        .number()
        .nullable()
        .describe('measured gain of the change; null: several findings are gone at once, see together'),
    }),
  ),
  together: z.strictObject({ predicted: z.number(), measured: z.number() }).nullable(),
});

const comparedRun = z.strictObject({
  label: z.string().describe('as the user named it'),
  step_ms: ms.describe('mean step'),
  usual_ms: ms.describe('the same without rare pauses: what is compared'),
  steps: z.int().min(0),
  times_ms: z
    .array(ms)
    .describe('of each step, in order; of many steps, means of groups; empty: only the mean is known'),
  source: z.enum(['measured', 'estimated']).describe('estimated: from a trace, without the profiler'),
});

const side = z.strictObject({
  runs: z.array(comparedRun),
  bottleneck: z.string(),
});

const setup = z.strictObject({
  name: z.enum(['device', 'torch', 'ranks', 'batch size', 'command']),
  before: z.string().nullable().describe('null: not recorded'),
  after: z.string().nullable(),
});

const historyPoint = z.strictObject({
  label: z.string(),
  time: z.string().nullable().describe('ISO 8601; null: this run, or not recorded'),
  step_ms: ms,
  good: z.boolean().describe('later runs are compared with it'),
});

const history = z.strictObject({
  runs: z.int().min(0).describe('in the file before this one'),
  compared: z.int().min(0).describe('the last good runs, which this one was compared with'),
  points: z
    .array(historyPoint)
    .describe('runs on the same set-up, oldest first, this one last; of a long history, the end'),
  change: z
    .strictObject({
      at: z.string().describe('label of the first run after it'),
      time: z.string().nullable(),
      before_ms: ms,
      after_ms: ms,
      since: z.int().min(1).describe('runs since, that one included'),
    })
    .register(typed, { type: 'HistoryChange' })
    .nullable()
    .describe('the last lasting change of the step time; null: none'),
});

const notes = z
  .array(z.string())
  .describe('what else differs between the sides, and what the answer rests on');
const schema = z.literal('whyslow/compare/1');
const sentence = z.string().describe('the answer for a person');

const stepVerdict = z.enum(['faster', 'slower', 'same', 'cannot-tell']);
const timeClass = z.enum(TIME_CLASSES);

export const comparison = z.strictObject({
  schema,
  verdict: stepVerdict.describe('faster, slower: the interval excludes no difference; same: it is within 3%'),
  sentence,
  step,
  time: z
    .array(z.strictObject({ class: timeClass, before_ms: ms, after_ms: ms }))
    .describe('classes of time, per step'),
  phases: z.array(changedTime).describe('phases of event logs, and time between steps'),
  kernels: z.array(changedWork).describe('largest change first; only what matters to the step'),
  operators: z.array(changedWork).describe('host calls, by their own time under the profiler'),
  ranks: z
    .array(z.strictObject({ rank: z.int().min(0), before_ms: ms, after_ms: ms }))
    .describe('ranks that both sides have; empty: a single rank'),
  host_lines: z.array(changedLine).describe('lines of the job, by how long they hold the training thread'),
  findings,
  setup: z.array(setup).describe('what each side ran on, as far as it is known'),
  notes,
  before: side,
  after: side,
  history: history.nullable().describe('null: no --history'),
  tool: z.strictObject({ name: z.literal('whyslow'), version: z.string() }),
});

export const firstRun = z
  .strictObject({ schema, verdict: z.literal('cannot-tell'), sentence, step: z.null(), history, notes })
  .describe('the first run of a history: there is nothing to compare with');

export const compareSchema = z.union([comparison, firstRun]);

nameTypes({
  CompareReport: comparison,
  FirstRunReport: firstRun,
  ComparedStep: step,
  ComparedSetup: setup,
  ComparedSide: side,
  ComparedRun: comparedRun,
  ChangedTime: changedTime,
  WorkChange: workChange,
  ChangedWork: changedWork,
  ChangedLine: changedLine,
  NamedFinding: finding,
  ComparedFindings: findings,
  HistoryAnswer: history,
  HistoryPoint: historyPoint,
});
nameTypes({ StepVerdict: stepVerdict }, 'compare/step-times/step-comparison');
nameTypes({ TimeClass: timeClass }, 'facts/time-class');
