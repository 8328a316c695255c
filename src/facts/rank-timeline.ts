import { CoverageCursor, clip, gapsOf, type Spans, union } from '../base/intervals.js';
import { TIME_CLASSES, type TimeClass } from './time-class.js';

/**
 * A rank's steps cut where it may meet others: what it did, by class, between one exposed collective and the next. Plain
 * data of bounded size that moves between threads; times in ns as in the rank's collectives.
 */
export interface RankTimeline {
  readonly length: number;
  /** In order of time. One ends where the next starts, except between steps that do not follow each other. */
  readonly start: Float64Array;
  readonly end: Float64Array;
  /** 1: nothing but communication goes on. Such a segment is never cut. */
  readonly exposed: Uint8Array;
  /** ns of segment i in class c: `classes[i * TIME_CLASSES.length + c]`. */
  readonly classes: Float32Array;
  /** Of each step that counts (`StepFacts.indices`). */
  readonly stepFrom: Float64Array;
  readonly stepTo: Float64Array;
}

/** Segments of one rank: 57 bytes each. A step of a large model has a few hundred. */
export const MAX_SEGMENTS = 4096;

const EXPOSED: readonly TimeClass[] = ['comms_transfer', 'comms_wait', 'idle_comms'];

export interface TimelineInput {
  /** When each class went on; without overlap. */
  readonly spans: Readonly<Record<TimeClass, Spans>>;
  readonly stepFrom: ArrayLike<number>;
  readonly stepTo: ArrayLike<number>;
  /** Starts of collectives, ascending: the rank comes to them then, whatever else it does. */
  readonly arrivals: ArrayLike<number>;
}

export function cutTimeline(input: TimelineInput, most = MAX_SEGMENTS): RankTimeline {
  const { spans, stepFrom, stepTo } = input;
  const all = EXPOSED.reduce((sum, c) => union(sum, spans[c]), spans.comms_transfer);
  const windows = windowsOf(stepFrom, stepTo);
  // Half of the room for what is exposed; the longest speak for the rest, which stays part of the rank's own time.
  const exposed = longest(all, most / 2 - windows.length);
  const cuts = ownCuts(input, most - 2 * exposed.length - windows.length);
  const parts: [start: number, end: number, exposed: number][] = [];
  let cut = 0;
  for (const [from, to] of windows) {
    const inside = clip(exposed, from, to);
    const own = gapsOf(inside, from, to);
    for (let i = 0; i < own.length; i++) {
      let at = own.start[i]!;
      while (cut < cuts.length && cuts[cut]! <= at) cut++;
      for (; cut < cuts.length && cuts[cut]! < own.end[i]!; cut++) {
        if (cuts[cut] === at) continue;
        parts.push([at, cuts[cut]!, 0]);
        at = cuts[cut]!;
      }
      parts.push([at, own.end[i]!, 0]);
    }
    for (let i = 0; i < inside.length; i++) parts.push([inside.start[i]!, inside.end[i]!, 1]);
  }
  parts.sort((a, b) => a[0] - b[0]);
  return {
    ...{ length: parts.length, classes: classesOf(spans, parts) },
    start: Float64Array.from(parts, (p) => p[0]),
    end: Float64Array.from(parts, (p) => p[1]),
    exposed: Uint8Array.from(parts, (p) => p[2]),
    ...{ stepFrom: Float64Array.from(stepFrom), stepTo: Float64Array.from(stepTo) },
  };
}

/** Steps that follow each other without a gap are one window. */
function windowsOf(from: ArrayLike<number>, to: ArrayLike<number>): [from: number, to: number][] {
  const windows: [number, number][] = [];
  for (let i = 0; i < from.length; i++) {
    const last = windows.at(-1);
    if (last && touches(last[1], from[i]!)) last[1] = to[i]!;
    else if (to[i]! > from[i]!) windows.push([from[i]!, to[i]!]);
  }
  return windows;
}

/** Ends and starts are added up: they are the same to a nanosecond. */
export const touches = (end: number, start: number) => Math.abs(end - start) <= 1;

function longest(spans: Spans, most: number): Spans {
  if (spans.length <= most) return spans;
  const order = Array.from({ length: spans.length }, (_, i) => i);
  const kept = order
    .sort((a, b) => spans.end[b]! - spans.start[b]! - (spans.end[a]! - spans.start[a]!))
    .slice(0, Math.max(0, Math.floor(most)))
    .sort((a, b) => a - b);
  return {
    start: Float64Array.from(kept, (i) => spans.start[i]!),
    end: Float64Array.from(kept, (i) => spans.end[i]!),
    length: kept.length,
  };
}

/** Bounds of steps and arrivals; of too many arrivals every so many-th. */
function ownCuts({ stepTo, arrivals }: TimelineInput, room: number): Float64Array {
  const left = Math.max(0, room - stepTo.length);
  const every = left > 0 ? Math.ceil(arrivals.length / left) : Number.POSITIVE_INFINITY;
  const kept = Array.from(arrivals).filter((_, i) => i % every === 0 && every < Number.POSITIVE_INFINITY);
  return Float64Array.from([...Array.from(stepTo).slice(0, Math.max(0, room)), ...kept]).sort();
}

function classesOf(
  spans: TimelineInput['spans'],
  parts: readonly (readonly [start: number, end: number, exposed: number])[],
): Float32Array {
  const classes = new Float32Array(parts.length * TIME_CLASSES.length);
  TIME_CLASSES.forEach((name, c) => {
    if (spans[name].length === 0) return;
    const cursor = new CoverageCursor(spans[name]);
    parts.forEach(([start, end], i) => {
      classes[i * TIME_CLASSES.length + c] = cursor.covered(start, end);
    });
  });
  return classes;
}

/** Place of the segment in which a time lies, its end included; −1 before the first. */
export function segmentBefore({ start, length }: RankTimeline, time: number): number {
  let low = 0;
  let high = length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (start[middle]! < time) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
