import { InputError } from '../base/input-error.js';
import { type WhatRan, type Where, whatRanIn } from '../timeline/what-ran.js';
import type { DiagnoseOptions } from './diagnose.js';
import { openRun } from './open-run.js';

/** What ran in a step or a range on one rank. Throws InputError when there is no trace, or no such rank or step. */
export async function whatRan(
  paths: readonly string[],
  { rank, step, from_ms, to_ms, ...options }: DiagnoseOptions & Where = {},
): Promise<WhatRan> {
  const { timeline } = await openRun(paths, null, options);
  if (!timeline)
    throw new InputError('no trace is here, so there is no timeline: event logs hold step times');
  return whatRanIn(timeline, { rank, step, from_ms, to_ms });
}
