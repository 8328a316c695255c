import { clip, gapsOf, type Spans, SpanUnion, union, unionOf } from '../../base/intervals.js';
import { COLLECTIVE_SPAN, type HostSpans } from '../timeline/host-spans.js';
import type { StepTime } from '../timeline/step-times.js';
import type { HostTree } from './host-tree.js';

/** A time in which the training threads call nothing that is recorded. */
export interface Silence {
  readonly ts: number;
  readonly dur: number;
  /** Index of the step it is in. */
  readonly step: number;
}

export interface Silences {
  readonly count: number;
  readonly total: number;
  readonly longest: Silence | null;
}

/** Shorter ones are ordinary Python between operators (0.01–2 ms in the zoo). */
export const SILENCE_NS = 3_000_000;

/** When operators and runtime calls ran on any training thread: while backward runs on its own the main one only waits. */
export function operatorSpans(tree: HostTree): Spans {
  let all: Spans | null = null;
  let thread = new SpanUnion();
  let last = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < tree.length; i++) {
    // The tree goes from thread to thread, each in order of time.
    if (tree.start[i]! < last) {
      const finished = thread.finish();
      all = all ? union(all, finished) : finished;
      thread = new SpanUnion();
    }
    last = tree.start[i]!;
    if (tree.counted[i] === 1) thread.add(tree.start[i]!, tree.end[i]!);
  }
  return all ? union(all, thread.finish()) : thread.finish();
}

/** Waiting for input or for other ranks is no pause of the loop's own making. */
export function findSilences(host: HostSpans, steps: readonly StepTime[], operators: Spans): Silences {
  const collectives = unionOf(host.ofKind(COLLECTIVE_SPAN).map((s) => [s.start, s.end] as const));
  const [from, to] = [steps[0]!.hostStart, steps.at(-1)!.hostEnd];
  const gaps = gapsOf(clip(union(union(operators, host.waits.data), collectives), from, to), from, to);
  let count = 0;
  let total = 0;
  let longest: Silence | null = null;
  let step = 0;
  for (let g = 0; g < gaps.length; g++) {
    const ts = gaps.start[g]!;
    const dur = gaps.end[g]! - ts;
    if (dur < SILENCE_NS) continue;
    while (step + 1 < steps.length && ts >= steps[step + 1]!.hostStart) step++;
    count++;
    total += dur;
    if (longest === null || dur > longest.dur) longest = { ts, dur, step: steps[step]!.index };
  }
  return { count, total, longest };
}
