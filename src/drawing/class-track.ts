import { TIME_CLASSES, type TimeClass } from '../facts/time-class.js';
import type { ClassSpans } from './draw-trace.js';
import { painted } from './paint.js';
import { ColumnSlices } from './slices.js';
import { Track } from './track.js';

/** As the terminal calls them. */
export const CLASS_WORDS: Readonly<Record<TimeClass, string>> = {
  compute: 'compute',
  comms_transfer: 'transfer',
  comms_wait: 'waiting for ranks',
  copy: 'copy',
  idle_data: 'input wait',
  idle_sync: 'sync',
  idle_compile: 'compile',
  idle_comms: 'collective wait',
  idle_host: 'host',
  idle_other: 'other',
};

/** What the rank did at each time: one row without gaps, idle time coloured by its cause. */
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
  return new Track(info, [new ColumnSlices(columns)], (id) => CLASS_WORDS[TIME_CLASSES[id]!]);
}
