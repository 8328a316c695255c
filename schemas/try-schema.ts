import { z } from 'zod';
import { nameTypes, typed } from './schema-text.js';

/**
 * What try.json holds, field by field; `whyslow try --json` prints its `trials`. `npm run schema` makes trials.ts and
 * docs/try.schema.json from it. Import types from trials.ts.
 */

const speedup = z
  .strictObject({ low: z.number().positive(), likely: z.number().positive(), high: z.number().positive() })
  .describe('step time before divided by after');
const memory = z.number().min(0).nullable().describe('peak of tensors on the GPU; null: no GPU');

const losses = z
  .strictObject({
    verdict: z
      .enum(['identical', 'rounding', 'differs', 'as-between-runs', 'unknown'])
      .describe(
        'as-between-runs: turns of the job as it is differ from each other by as much; unknown: no loss was seen',
      ),
    difference: z
      .number()
      .nullable()
      .describe(
        'mean relative difference of the same steps; null: unknown, or a loss is not a number any more',
      ),
    same: z.int().describe('the first so many steps have the very same losses'),
    steps: z.int().min(0),
  })
  .describe('losses of the same steps, with the fix and without');

const outcome = z.enum([
  'faster',
  'slower',
  'same',
  'cannot-tell',
  'not-applicable',
  'crashed',
  'timed-out',
  'not-tried',
]);

const searched = z.strictObject({
  value: z.int(),
  measured: speedup.nullable().describe('null: not measured; outcome and reason say why'),
  step_ms: z.number().min(0).nullable(),
  outcome,
  reason: z.string().nullable(),
});

const trial = z.strictObject({
  fix: z.string().describe('ids of the fixes, joined by " + "'),
  fixes: z.array(z.string()),
  title: z.string(),
  finding: z.string().nullable().describe('id of the finding that asked for it'),
  rule: z.string().nullable(),
  predicted: speedup.nullable().describe('null: no finding prices it'),
  advised: z.int().nullable().describe('the number that the finding advises; null: none'),
  value: z.int().nullable().describe('the best number of those tried; null: the fix has none'),
  searched: z.array(searched).describe('the numbers tried, in order'),
  measured: speedup.nullable().describe('null: not measured; outcome and reason say why'),
  step_ms: z.number().min(0).nullable(),
  losses,
  memory_mb: memory,
  applied: z.array(z.string()).describe('what was changed, e.g. num_workers 0 → 12'),
  outcome,
  reason: z.string().nullable(),
  start_s: z
    .number()
    .nullable()
    .describe('seconds by which set-up and first step take longer, e.g. to compile'),
  graph_breaks: z
    .record(z.string(), z.number())
    .describe('how often torch.compile broke the graph, by reason'),
  turns: z.int().min(0),
});

export const trySchema = z.strictObject({
  schema: z.literal('whyslow/try/1'),
  command: z.array(z.string()),
  started: z.string().describe('ISO 8601'),
  device: z.string().nullable(),
  torch: z.string().nullable(),
  framework: z.string().describe('whose loop trains: plain, transformers, lightning, accelerate, …'),
  ranks: z.int().min(0),
  as_it_is: z
    .strictObject({
      step_ms: z.number().min(0),
      memory_mb: memory,
      turns: z.int().min(0),
      steps: z.int().min(0),
    })
    .register(typed, { type: 'AsItIs' })
    .nullable()
    .describe('the job without any fix; null: it could not be measured'),
  trials: z.array(trial),
  best: z.string().nullable().describe('the fix or combination to make; null: nothing helped'),
  paste: z.array(z.string()).describe('lines to paste for it'),
  patch: z
    .string()
    .nullable()
    .describe('unified diff of your script with it; null: the places to change are not known'),
  by_hand: z.array(z.string()).describe('those of the lines to paste that are not in the patch'),
  notes: z.array(z.string()),
  seconds: z.number().min(0),
  complete: z.boolean().describe('false: the user or the budget ended it early'),
});

nameTypes({ TryReport: trySchema, Trial: trial, SearchedNumber: searched, Outcome: outcome });
nameTypes({ SpeedupInterval: speedup }, 'compare/step-times/step-comparison');
nameTypes({ LossComparison: losses }, 'trial/losses');
