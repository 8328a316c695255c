import { Category } from '../model/category.js';
import { sortByTime } from '../model/time-order.js';
import { kindMask } from '../model/trace.js';
import type { TraceData } from '../model/trace-data.js';
import { asciiJson, numberOf, wordOf } from './event-text.js';

/** What to change on a slice that Perfetto would drop. */
export interface Fixed {
  /** 0: its own track. Others are tracks next to it. */
  readonly lane: number;
  /** ns; null: as recorded. */
  readonly duration: number | null;
}

/** Clocks are read one after the other, so an inner call may seem to end up to this much after the one around it. */
const TOLERANCE_NS = 1000;
/** Each takes about 150 bytes. */
const MAX_MENDED = 1_000_000;
const MAX_LANES = 64;

export const sliceKey = (pid: unknown, tid: unknown, start: number, duration: number): string =>
  `${wordOf(pid)} ${wordOf(tid)} ${start} ${duration}`;

export interface Overlaps {
  /** By `sliceKey`. */
  readonly fixed: ReadonlyMap<string, Fixed>;
  /** Slices that still overlap: too many for tracks of their own. */
  readonly left: number;
}

/**
 * Perfetto drops a slice that starts inside another one of its track and ends after it: work that overlaps on a stream, or a
 * call that outlasts its caller by a rounding. The first goes to a track of its own, the second is cut by up to a microsecond.
 */
export function findOverlaps(data: TraceData): Overlaps {
  const { ts, dur, kind, track } = data;
  const isSlice = kindMask(data, (c, phase) => phase === 'X' && c !== Category.flow);
  const counts = new Uint32Array(data.tracks.length + 1);
  for (let row = 0; row < data.rows; row++) counts[track[row]! + 1]! += isSlice[kind[row]!]!;
  for (let t = 1; t < counts.length; t++) counts[t]! += counts[t - 1]!;
  const ends = counts.slice();
  const rows = new Uint32Array(counts.at(-1)!);
  for (let row = 0; row < data.rows; row++) if (isSlice[kind[row]!] === 1) rows[ends[track[row]!]!++] = row;
  const fixed = new Map<string, Fixed>();
  let left = 0;
  for (let t = 0; t < data.tracks.length; t++) {
    const own = rows.subarray(counts[t], counts[t + 1]).filter((row) => !Number.isNaN(ts[row]!));
    const { pid, tid } = data.tracks[t]!;
    const lanes: number[][] = [];
    for (const row of sortByTime(own, ts, dur)) {
      const duration = Math.max(0, dur[row]!);
      const placed = place(lanes, ts[row]!, duration);
      if (placed === null || fixed.size >= MAX_MENDED) left++;
      else if (placed.lane > 0 || placed.duration !== null)
        fixed.set(sliceKey(pid, tid, ts[row]!, duration), placed);
    }
  }
  return { fixed, left };
}

/** `lanes`: of each, the ends of slices that are open, innermost last. */
function place(lanes: number[][], start: number, duration: number): Fixed | null {
  const end = start + duration;
  for (let lane = 0; lane < MAX_LANES; lane++) {
    lanes[lane] ??= [];
    const open = lanes[lane]!;
    while (open.length > 0 && open.at(-1)! <= start) open.pop();
    const around = open.at(-1) ?? Number.POSITIVE_INFINITY;
    if (end > around + TOLERANCE_NS) continue;
    open.push(Math.min(end, around));
    return { lane, duration: end > around ? around - start : null };
  }
  return null;
}

/** Far above ids of threads and streams, and below 2^32. */
const FIRST_ID = 1_000_000_000;
const ID_RANGE = 2 ** 32;

/**
 * Perfetto takes ids of 32 bits. Old traces have negative ones (the lower half of a pthread's address): it puts their events on
 * the main thread, and drops those that overlap its own. An id that is a text stays.
 */
const isTaken = (tid: unknown) => {
  const id = numberOf(tid);
  return Number.isNaN(id) || (id >= 0 && id < ID_RANGE);
};

/** Ids for tracks that need another one: lanes next to a track, and threads whose id Perfetto does not take. */
export class TrackIds {
  readonly #ids = new Map<string, number>();

  /** Null: the track keeps its id. `lane` 0: the track itself. `named` takes the metadata of a new one when it is first used. */
  idOf(pid: unknown, tid: unknown, lane: number, named: (event: string) => void): number | null {
    if (lane === 0 && isTaken(tid)) return null;
    const key = `${wordOf(pid)} ${wordOf(tid)} ${lane}`;
    const known = this.#ids.get(key);
    if (known !== undefined) return known;
    const id = FIRST_ID + this.#ids.size;
    this.#ids.set(key, id);
    // A name that the file has for the track itself comes later and replaces this one.
    const name = lane === 0 ? wordOf(tid) : `${wordOf(tid)} (${lane + 1})`;
    named(asciiJson({ ph: 'M', name: 'thread_name', pid, tid: id, ts: 0, args: { name } }));
    return id;
  }
}
