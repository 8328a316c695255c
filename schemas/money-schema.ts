import { z } from 'zod';
import { nameTypes } from './schema-text.js';

const amount = z.number().min(0);

/** What a run costs at the price that was given. In the currency of that price. */
export const money = z.strictObject({
  per_gpu_hour: amount,
  gpus: z.int().min(0).describe('ranks that were measured: each counts as one GPU'),
  per_day: amount.describe('all of them, whatever they do'),
  bottleneck_per_day: amount
    .nullable()
    .describe(
      'the part of per_day that goes to the bottleneck: waiting for data, for other ranks, for the host; null: it is the computing itself, or unknown',
    ),
  findings: z
    .array(z.strictObject({ id: z.string(), per_day: amount }))
    .describe(
      'what each fix saves at the same number of steps, after those listed before it; only those with an estimate',
    ),
});

export const energy = z.strictObject({
  watts: amount.describe('all GPUs of the measured ranks together, while they are busy'),
  kwh_per_day: amount,
  joules_per_step: amount.nullable(),
});

nameTypes({ ReportMoney: money, ReportEnergy: energy });
