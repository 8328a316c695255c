import { CoverageCursor, clip, gapsOf, type Spans, union } from '../base/intervals.js';
import { lowerBound } from '../base/search.js';
import { TIME_CLASSES, type TimeClass } from './time-class.js';

/**
 * A rank's steps, cut where the rank meets others: time by class between one exposed collective and the next. Plain data
 * of bounded size that moves between threads. Times in ns as in the rank's collectives.
 */
export interface RankTimeline {
  readonly length: number;
  /** Segments in order of time. Each ends where the next starts, except between steps that do not follow each other. */
  readonly start: Float64Array;
  readonly end: Float64Array;
  /** 1: only communication runs. Such a segment is never cut. */
  readonly exposed: Uint8Array;
  /** ns of segment i in class c: `classes[i * TIME_CLASSES.length + c]`. */
  readonly classes: Float32Array;
  /** Of each step that counts (`StepFacts.indices`). */
  readonly stepFrom: Float64Array;
  readonly stepTo: Float64Array;
}

/** 57 bytes each. A step of a large model has a few hundred segments. */
const MAX_SEGMENTS = 4096;

const EXPOSED: readonly TimeClass[] = ['comms_transfer', 'comms_wait', 'idle_comms'];

interface TimelineInput {
  /** When each class ran, without overlap. */
  readonly spans: Readonly<Record<TimeClass, Spans>>;
  readonly stepFrom: ArrayLike<number>;
  readonly stepTo: ArrayLike<number>;
  /** Starts of collectives, ascending. The rank arrives at them then, whatever else it does. */
  readonly arrivals: ArrayLike<number>;
}

type Segment = readonly [start: number, end: number, exposed: number];

export function cutTimeline(input: TimelineInput, limit = MAX_SEGMENTS): RankTimeline {
  const { spans, stepFrom, stepTo } = input;
  const windows = windowsOf(stepFrom, stepTo);
  const communication = EXPOSED.map((c) => spans[c]).reduce(union);
  // Up to half of the segments are exposed communication. If there is more, the longest are kept and the rest stays part
  // of the rank's own time.
  const exposed = longest(communication, limit / 2 - windows.length);
  const cuts = cutsOf(input, limit - 2 * exposed.length - windows.length);
  const segments: Segment[] = [];
  let cut = 0;
  for (const [from, to] of windows) {
    const inside = clip(exposed, from, to);
    for (let i = 0; i < inside.length; i++) segments.push([inside.start[i]!, inside.end[i]!, 1]);
    const own = gapsOf(inside, from, to);
    for (let i = 0; i < own.length; i++) {
      let start = own.start[i]!;
      for (; cut < cuts.length && cuts[cut]! < own.end[i]!; cut++) {
        if (cuts[cut]! <= start) continue;
        segments.push([start, cuts[cut]!, 0]);
        start = cuts[cut]!;
      }
      segments.push([start, own.end[i]!, 0]);
    }
  }
  segments.sort((a, b) => a[0] - b[0]);
  return {
    length: segments.length,
    start: Float64Array.from(segments, (s) => s[0]),
    end: Float64Array.from(segments, (s) => s[1]),
    exposed: Uint8Array.from(segments, (s) => s[2]),
    classes: classesOf(spans, segments),
    stepFrom: Float64Array.from(stepFrom),
    stepTo: Float64Array.from(stepTo),
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

/** Whether a span begins where another ends. Both are sums, which are exact to a nanosecond. */
export const touches = (end: number, start: number) => Math.abs(end - start) <= 1;

function longest(spans: Spans, count: number): Spans {
  if (spans.length <= count) return spans;
  const durationOf = (i: number) => spans.end[i]! - spans.start[i]!;
  const kept = Array.from(spans.start.keys())
    .sort((a, b) => durationOf(b) - durationOf(a))
    .slice(0, Math.max(0, Math.floor(count)))
    .sort((a, b) => a - b);
  return {
    start: Float64Array.from(kept, (i) => spans.start[i]!),
    end: Float64Array.from(kept, (i) => spans.end[i]!),
    length: kept.length,
  };
}

/** Where own time is cut: at the ends of steps and at arrivals. Of too many arrivals every n-th is kept. */
function cutsOf({ stepTo, arrivals }: TimelineInput, room: number): Float64Array {
  const left = Math.max(0, room - stepTo.length);
  const stride = Math.ceil(arrivals.length / left);
  const kept = left > 0 ? Array.from(arrivals).filter((_, i) => i % stride === 0) : [];
  return Float64Array.from([...Array.from(stepTo).slice(0, Math.max(0, room)), ...kept]).sort();
}

function classesOf(spans: TimelineInput['spans'], segments: readonly Segment[]): Float32Array {
  const classes = new Float32Array(segments.length * TIME_CLASSES.length);
  TIME_CLASSES.forEach((name, c) => {
    if (spans[name].length === 0) return;
    const cursor = new CoverageCursor(spans[name]);
    segments.forEach(([start, end], i) => {
      classes[i * TIME_CLASSES.length + c] = cursor.covered(start, end);
    });
  });
  return classes;
}

/** Index of the segment that holds a time, its end included; −1 before the first. */
export function segmentBefore({ start }: RankTimeline, time: number): number {
  return lowerBound(start, time) - 1;
}
