import { clip, gapsOf, NO_SPANS, type Spans, SpanUnion, union, unionOfSpans } from '../../base/intervals.js';
import { lowerBound } from '../../base/search.js';
import { type Ns, ns } from '../../base/units.js';
import { COLLECTIVE_SPAN, type HostSpans } from '../timeline/host-spans.js';
import type { OsCall } from '../timeline/os-calls.js';
import type { StepTime } from '../timeline/step-times.js';
import type { HostTree } from './host-tree.js';

/** A time in which no training thread makes a recorded call. */
export interface Pause {
  readonly ts: number;
  readonly dur: Ns;
  /** Number of the step it is in. */
  readonly step: number;
}

export interface Pauses {
  readonly count: number;
  /** How many steps have one. */
  readonly inSteps: number;
  readonly total: Ns;
  readonly longest: Pause | null;
  /** The call of the operating system that took most of them. Null: none did, or nobody recorded it. */
  readonly inCall: { readonly name: string; readonly time: Ns } | null;
}

/** Shorter ones are ordinary Python between operators (0.01–2 ms in the zoo). */
export const LEAST_PAUSE_NS = 3_000_000;

/** When operators and runtime calls ran on any training thread. While backward runs on its own thread, the main one waits. */
export function operatorSpans(tree: HostTree): Spans {
  let all = NO_SPANS;
  let thread = new SpanUnion();
  let last = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < tree.length; i++) {
    // The tree goes from thread to thread, each in order of time.
    if (tree.start[i]! < last) {
      all = union(all, thread.finish());
      thread = new SpanUnion();
    }
    last = tree.start[i]!;
    if (tree.counted[i] === 1) thread.add(tree.start[i]!, tree.end[i]!);
  }
  return union(all, thread.finish());
}

export const NO_PAUSES: Pauses = { count: 0, inSteps: 0, total: ns(0), longest: null, inCall: null };

/** Waiting for input or for other ranks is no pause. */
export function findPauses(
  host: HostSpans,
  steps: readonly StepTime[],
  operators: Spans,
  calls: readonly OsCall[],
): Pauses {
  const collectives = unionOfSpans(host.ofKind(COLLECTIVE_SPAN));
  const [from, to] = [steps[0]!.hostStart, steps.at(-1)!.hostEnd];
  const gaps = gapsOf(clip(union(union(operators, host.waits.data), collectives), from, to), from, to);
  let count = 0;
  let inSteps = 0;
  let lastStep = -1;
  let total = 0;
  let longest: Pause | null = null;
  let step = 0;
  for (let g = 0; g < gaps.length; g++) {
    const ts = gaps.start[g]!;
    const dur = ns(gaps.end[g]! - ts);
    if (dur < LEAST_PAUSE_NS) continue;
    while (step + 1 < steps.length && ts >= steps[step + 1]!.hostStart) step++;
    count++;
    if (step !== lastStep) inSteps++;
    lastStep = step;
    total += dur;
    if (longest === null || dur > longest.dur) longest = { ts, dur, step: steps[step]!.index };
  }
  return { count, inSteps, total: ns(total), longest, inCall: mostIn(calls, gaps, total) };
}

/** Of the pauses, a call must take this much to explain them. */
const MOST = 0.5;

function mostIn(calls: readonly OsCall[], gaps: Spans, total: number): Pauses['inCall'] {
  const times = new Map<string, number>();
  for (const { name, start, end } of calls) {
    // The gaps that end after the call starts, up to those that start after it ends.
    for (let g = lowerBound(gaps.end, start); g < gaps.length && gaps.start[g]! < end; g++) {
      if (gaps.end[g]! - gaps.start[g]! < LEAST_PAUSE_NS) continue;
      const within = Math.min(end, gaps.end[g]!) - Math.max(start, gaps.start[g]!);
      if (within > 0) times.set(name, (times.get(name) ?? 0) + within);
    }
  }
  const [most] = [...times].sort((a, b) => b[1] - a[1]);
  return most && most[1] >= MOST * total ? { name: most[0], time: ns(Math.min(total, most[1])) } : null;
}
