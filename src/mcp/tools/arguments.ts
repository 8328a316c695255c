import * as z from 'zod';
import { InputError } from '../../base/input-error.js';
import { stepsOption } from '../../library/vocabulary.js';
import type { Call } from '../kit/tool.js';

/** Arguments that several tools take, as the options of the same name of the command line. */

export const PATHS = {
  paths: z
    .array(z.string().min(1).max(4096))
    .min(1)
    .max(1000)
    .describe('traces, event logs, or folders with them, e.g. ["runs/llama"]'),
};

const RANK = z.int().min(0).max(999_999);

export const SELECTION = {
  steps: z
    .object({ first: z.int().min(0).nullable(), last: z.int().min(0).nullable() })
    .optional()
    .describe('only these steps; null: open end'),
  ranks: z.array(RANK).max(10_000).optional().describe('only these ranks'),
  run: z.string().max(200).optional().describe('only this run, if the files are of several'),
};

export interface Selected {
  readonly steps?: { readonly first: number | null; readonly last: number | null } | undefined;
  readonly ranks?: readonly number[] | undefined;
  readonly run?: string | undefined;
}

/** As `diagnose` of the library takes it. */
export const selectionOf = ({ steps, ranks, run }: Selected) => {
  if (steps && steps.first !== null && steps.last !== null && steps.last < steps.first)
    throw new InputError(`the range of steps ends before it starts: ${stepsOption(steps)}`);
  return { steps: steps ?? null, ranks: ranks ?? null, run: run ?? null };
};

export const allowedPaths = (paths: readonly string[], { roots }: Call): Promise<string[]> =>
  Promise.all(paths.map((path) => roots.allowed(path)));
