import { groupBy } from '../../base/group-by.js';
import type { StepSource } from '../../facts/step-facts.js';
import { Category } from '../../model/category.js';
import { stepNumber } from '../../model/host-names.js';
import type { HostStep } from '../../model/steps.js';
import type { Trace } from '../../model/trace.js';
import type { KindInfo } from '../../model/trace-data.js';
import type { GpuWork } from './gpu-work.js';
import { DATA_SPAN, type HostSpans, OPTIMIZER_SPAN } from './host-spans.js';
import { repeatedLaunches } from './repeated-launches.js';

export type StepSpan = Pick<HostStep, 'index' | 'startNs' | 'endNs'>;

/** A step is what the job repeats. Marks of the profiler come first, then what people and engines name, then what repeats. */
export function hostSteps(
  trace: Trace,
  work: GpuWork,
  host: HostSpans,
): { readonly source: StepSource; readonly spans: readonly StepSpan[] } {
  const marked = distinct(trace.steps);
  if (marked.length > 0) return { source: 'profiler', spans: marked };
  const optimizer = host.ofKind(OPTIMIZER_SPAN);
  if (optimizer.length >= 2) {
    const ends = optimizer.map((s) => s.end);
    return { source: 'optimizer', spans: between(ends, host.from) };
  }
  const annotated = annotatedSteps(trace);
  if (annotated.length > 0) return { source: 'annotation', spans: annotated };
  const data = host.ofKind(DATA_SPAN);
  if (data.length >= 2) {
    const starts = data.map((s) => s.start);
    return { source: 'dataloader', spans: between([...starts.slice(1), host.to], starts[0]!) };
  }
  const starts = repeatedLaunches(trace, work, host);
  if (starts.length > 0) return { source: 'launches', spans: between(starts.slice(1), starts[0]!) };
  return { source: 'window', spans: [{ index: 0, startNs: host.from, endNs: host.to }] };
}

function between(ends: readonly number[], from: number): StepSpan[] {
  return ends.map((endNs, index) => ({ index, startNs: index === 0 ? from : ends[index - 1]!, endNs }));
}

/** Several threads or windows may mark the same step: spans that repeat or overlap the one before are left out. */
function distinct(steps: readonly HostStep[]): HostStep[] {
  const kept: HostStep[] = [];
  for (const s of steps) {
    const last = kept.at(-1);
    if (last && (s.startNs < last.endNs - 1000 || s.index === last.index)) continue;
    kept.push(s);
  }
  return kept;
}

const isAnnotation = (k: KindInfo) => k.phase === 'X' && k.category === Category.annotation;

/**
 * Annotations that name a step: `iteration 12`, `train_step`, `step[DECODE bs=32]`, `execute_32_context_…`. One series counts:
 * the one on one thread, without overlap, that covers most time. A serving engine's names hold the sizes of each batch.
 */
function annotatedSteps(trace: Trace): StepSpan[] {
  const { ts, dur, track } = trace.data;
  const rows = trace.index.named(isAnnotation, (text) => text.length < 500 && stepNumber(text) !== null);
  const spans = Array.from(rows, (row) => {
    const { series, number } = stepNumber(trace.name(row))!;
    const start = ts[row]!;
    return { key: `${track[row]} ${series}`, number, startNs: start, endNs: start + Math.max(0, dur[row]!) };
  }).filter(({ startNs }) => !Number.isNaN(startNs));
  let best: readonly (typeof spans)[number][] = [];
  const timeOf = (list: typeof best) => list.reduce((sum, s) => sum + s.endNs - s.startNs, 0);
  for (const list of groupBy(spans, (s) => s.key).values()) {
    const inOrder = list.toSorted((a, b) => a.startNs - b.startNs);
    const overlaps = inOrder.some((s, i) => i > 0 && s.startNs < inOrder[i - 1]!.endNs);
    if (!overlaps && timeOf(inOrder) > timeOf(best)) best = inOrder;
  }
  const numbered = best.every((s, i) => i === 0 || s.number > best[i - 1]!.number);
  return best.map(({ number, startNs, endNs }, i) => ({
    index: numbered && !Number.isNaN(number) ? number : i,
    startNs,
    endNs,
  }));
}
