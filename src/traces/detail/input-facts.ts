import { CoverageCursor, type Spans, unionOf } from '../../base/intervals.js';
import type { Trace } from '../../model/trace.js';
import { COMPILE_SPAN, DATA_SPAN, type HostSpans } from '../timeline/host-spans.js';
import type { StepTime } from '../timeline/step-times.js';

export interface InputFacts {
  /** Requests for a batch, by kind of loader. */
  readonly inMain: number;
  readonly inWorkers: number;
  /** Steps that begin with making a batch, as far as can be told without a DataLoader's span. */
  readonly unmarked: number;
  /** Host time waiting for batches, each step of the window (hidden behind the GPU or not). */
  readonly waitPerStep: readonly number[];
  readonly longest: { readonly ts: number; readonly dur: number } | null;
  /** Ends of epochs: an exhausted loader is started again. */
  readonly restarts: readonly { readonly ts: number; readonly dur: number }[];
  readonly name: string | null;
  /** Compiling, tuning and loading code, a step. */
  readonly compile: { readonly ns: number; readonly count: number; readonly name: string | null };
}

export function inputFacts(
  trace: Trace,
  host: HostSpans,
  unmarked: Spans,
  steps: readonly StepTime[],
): InputFacts {
  const found = Array.from(unmarked.start, (start, i) => ({ row: -1, start, end: unmarked.end[i]! }));
  const requests = [...host.ofKind(DATA_SPAN), ...found];
  const inside = (ts: number) => ts >= steps[0]!.hostStart && ts <= steps.at(-1)!.hostEnd;
  const longest = requests
    .filter((r) => inside(r.start))
    .reduce<(typeof requests)[number] | undefined>(
      (a, b) => (a && a.end - a.start >= b.end - b.start ? a : b),
      undefined,
    );
  const waiting = new CoverageCursor(unionOf(requests.map((r) => [r.start, r.end] as const)));
  const waitPerStep = steps.map((s) => waiting.covered(s.hostStart, s.hostEnd));
  const compiles = host.ofKind(COMPILE_SPAN).filter((s) => inside(s.start));
  return {
    inMain: host.loaders.inMain,
    inWorkers: host.loaders.inWorkers,
    unmarked: unmarked.length,
    waitPerStep,
    longest: longest ? { ts: longest.start, dur: longest.end - longest.start } : null,
    restarts: host.restarts
      .filter((r) => inside(r.start))
      .map((r) => ({ ts: r.start, dur: r.end - r.start })),
    name: longest && longest.row >= 0 ? trace.name(longest.row) : null,
    compile: {
      ns: compiles.reduce((n, s) => n + s.end - s.start, 0) / steps.length,
      count: compiles.length,
      name: compiles[0] ? trace.name(compiles[0].row) : null,
    },
  };
}
