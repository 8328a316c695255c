import { MEASURE, unknown } from './telemetry-verdict.js';
import type { Verdict } from './verdict.js';

interface CompileLog {
  readonly compiled: readonly unknown[];
  readonly graphBreaks: readonly unknown[];
}

/** The answer for a job of which only a log of torch.compile exists. Null: there is none, or it says nothing. */
export function compileLogVerdict({ compiled, graphBreaks }: CompileLog): Verdict | null {
  if (compiled.length + graphBreaks.length === 0) return null;
  return unknown(
    'no-evidence',
    'the log of torch.compile says what it compiled, not what the steps of the job wait for',
    [MEASURE],
  );
}
