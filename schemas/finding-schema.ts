import { z } from 'zod';
import { BOTTLENECKS } from '../src/facts/causes.js';
import { COSTS, RISKS } from '../src/remedies/kit/remedy.js';
import { nameTypes } from './schema-text.js';

/** Units of `Position` in base/problem.ts. */
const POSITION_UNITS = ['byte', 'stored-byte', 'line', 'row'] as const;

export const confidence = z.number().min(0).max(1);
export const ranks = z.array(z.int().min(0));
export const bottleneck = z.enum(BOTTLENECKS).meta({
  id: 'bottleneck',
  description:
    'gpu: busy computing; compute: the same without GPU; data: waits for input; comms: exposed transfers; ' +
    'host: launching, synchronizing, compiling, Python; unknown: the evidence does not decide',
});

const evidence = z.strictObject({
  text: z.string().describe('what was observed, with its figures, one line'),
  value: z.number().nullable().describe('the main figure of the text, for programs'),
  unit: z.string().nullable().describe('unit of value, e.g. ms/step'),
  rank: z.int().min(0).nullable(),
  step: z.int().nullable(),
  ts_ns: z.number().nullable().describe('position in the trace: nanoseconds from its first event'),
  dur_ns: z.number().nullable(),
});

export const speedup = z
  .strictObject({ low: z.number().positive(), likely: z.number().positive(), high: z.number().positive() })
  .refine((s) => s.low <= s.likely && s.likely <= s.high, 'low, likely and high must be in order');

export const finding = z
  .strictObject({
    id: z.string().describe('short id of the fault, e.g. num-workers-zero'),
    rule: z.string().describe('id of the rule, e.g. T4; `whyslow rules T4` explains it'),
    title: z.string(),
    cost: z
      .enum(COSTS)
      .describe('free: a flag; knob: an argument; code: an edit to the loop or model; hardware: a machine'),
    risk: z.enum(RISKS).describe('what the fix may change besides speed'),
    speedup: speedup
      .nullable()
      .describe('step time before divided by after; null: the evidence supports no estimate'),
    saving_ms: z
      .number()
      .nullable()
      .describe(
        'milliseconds per step that this fix saves after those listed before it; null if speedup is null',
      ),
    confidence: confidence.describe('that the fault is real'),
    ranks,
    evidence: z.array(evidence),
    fix: z.strictObject({
      text: z.string(),
      code: z.string().describe('code to paste; may be empty'),
    }),
    further: z
      .strictObject({
        id: z.string().describe('id of this level, e.g. no-cuda-graphs'),
        title: z.string(),
        fix: z.strictObject({ text: z.string(), code: z.string() }),
        speedup: speedup.describe('of both levels together'),
        saving_ms: z.number().describe('of both levels together, after the fixes listed before'),
      })
      .nullable()
      .describe('a larger fix that extends this one, e.g. CUDA graphs after torch.compile; null: none'),
    addresses: bottleneck
      .nullable()
      .describe('the bottleneck it relieves; null: none, e.g. advice on measuring'),
  })
  .refine((f) => (f.speedup === null) === (f.saving_ms === null), 'speedup and saving_ms are null together')
  .meta({ id: 'finding' });

export const problem = z.strictObject({
  code: z.string().describe('stable id, e.g. truncated-gzip'),
  count: z.int().min(0),
  message: z.string().describe('what happened'),
  consequence: z.string().describe('what it means for the figures'),
  first: z
    .strictObject({ unit: z.enum(POSITION_UNITS), at: z.number() })
    .nullable()
    .describe('where it first occurred'),
});

export const health = z.strictObject({
  grade: z.enum(['good', 'usable', 'poor']),
  problems: z
    .array(problem.extend({ severity: z.enum(['note', 'warning', 'severe']), ranks }))
    .describe('worst first'),
});

nameTypes({ Finding: finding, Speedup: speedup }, 'rules/kit/finding');
nameTypes({ Problem: problem }, 'base/problem');
nameTypes({ Health: health }, 'base/check');
