import { CoverageCursor, type Spans, unionOfSpans } from '../../base/intervals.js';
import type { Trace } from '../../model/trace.js';
import { COMPILE_SPAN, DATA_SPAN, type HostSpans } from '../timeline/host-spans.js';
import type { StepTime } from '../timeline/step-times.js';
import type { LoaderQueue } from './loader-queue.js';

export interface InputFacts {
  /** Requests for a batch, by where the loader works. */
  readonly inMain: number;
  readonly inWorkers: number;
  /** Input waits that were inferred, in loops without a DataLoader (timeline/inferred-input.ts). */
  readonly inferred: number;
  /** What went into the prefetch queue and out of it. Null: unknown. */
  readonly queue: LoaderQueue | null;
  /** Host time waiting for batches in each step, exposed or not. ns. */
  readonly waitPerStep: readonly number[];
  readonly longest: { readonly ts: number; readonly dur: number } | null;
  /** Times in which an exhausted loader was started again. */
  readonly restarts: readonly { readonly ts: number; readonly dur: number }[];
  /** Name of the longest request; null where it was inferred. */
  readonly name: string | null;
  /** Compiling, tuning and loading code. `ns` is per step. */
  readonly compile: { readonly ns: number; readonly count: number; readonly name: string | null };
}

/** `row` −1: inferred. */
type Request = { readonly row: number; readonly start: number; readonly end: number };

export function inputFacts(
  trace: Trace,
  host: HostSpans,
  inferred: Spans,
  steps: readonly StepTime[],
  queue: LoaderQueue | null,
): InputFacts {
  const requests: readonly Request[] = [
    ...host.ofKind(DATA_SPAN),
    ...Array.from(inferred.start, (start, i) => ({ row: -1, start, end: inferred.end[i]! })),
  ];
  const inside = (ts: number) => ts >= steps[0]!.hostStart && ts <= steps.at(-1)!.hostEnd;
  const longest = requests
    .filter((r) => inside(r.start))
    .reduce<Request | null>((a, b) => (a && a.end - a.start >= b.end - b.start ? a : b), null);
  const waiting = new CoverageCursor(unionOfSpans(requests));
  const timed = ({ start, end }: { start: number; end: number }) => ({ ts: start, dur: end - start });
  const waitPerStep = steps.map((s) => waiting.covered(s.hostStart, s.hostEnd));
  const compiles = host.ofKind(COMPILE_SPAN).filter((s) => inside(s.start));
  return {
    inMain: host.loaders.inMain,
    inWorkers: host.loaders.inWorkers,
    inferred: inferred.length,
    queue,
    waitPerStep,
    longest: longest && timed(longest),
    restarts: host.restarts.filter((r) => inside(r.start)).map(timed),
    name: longest && longest.row >= 0 ? trace.name(longest.row) : null,
    compile: {
      ns: compiles.reduce((n, s) => n + s.end - s.start, 0) / steps.length,
      count: compiles.length,
      name: compiles[0] ? trace.name(compiles[0].row) : null,
    },
  };
}
