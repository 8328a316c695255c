import { CLASS_NAMES, TIME_CLASSES } from '../facts/time-class.js';
import type { ClassSpans } from './draw-trace.js';
import { painted } from './paint.js';
import { ColumnSlices } from './slices.js';
import { Track } from './track.js';

/** What the rank did at each time: one row without gaps, idle time colored by its cause. */
export function classTrack({ start, end, class: classes }: ClassSpans, title: string): Track {
  const columns = {
    length: start.length,
    start,
    end,
    name: Uint32Array.from(classes),
    paint: classes.map((c) => painted(c)),
    count: new Uint32Array(start.length).fill(1),
    busy: Float32Array.from(start, (s, i) => end[i]! - s),
  };
  const info = { kind: 'classes', title, leftOut: 0, training: false } as const;
  return new Track(info, [new ColumnSlices(columns)], (id) => CLASS_NAMES[TIME_CLASSES[id]!]);
}
