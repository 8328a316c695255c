import { inBlocks } from '../../../base/blocks.js';
import type { ProblemLog } from '../../../base/problem.js';
import { Category } from '../../../model/category.js';
import type { KindInfo, TraceData } from '../../../model/trace-data.js';

type Rows = Pick<TraceData, 'rows' | 'ts' | 'dur' | 'kind'>;

/** Phases whose times analyzes use: complete events, instants and counters. */
const TIMED = 'XiIRC';
/** Events this far from the rest are impossible. A job may hang for minutes inside a window, but not for an hour. ns. */
const LEAST_DISTANCE = 3600e9;
/** Where one event alone is far from the rest. In a hang, others end with it: its step, and the profiler's own span. ns. */
const LEAST_ALONE = 60e9;
/** Both distances, in lengths of the rest of the trace. */
const LEAST_LENGTHS = 10;
/** Fewer events are no measure of each other. */
const LEAST_EVENTS = 10;
/** Share of the events that may have impossible times before they count as the trace itself, and their least number. */
const MOST_ODD = 0.01;
const LEAST_ODD = 2;
/** As in the scanners: kinds beyond share the last number, whose phase is none. */
const MAX_KINDS = 255;

/**
 * Moves events that no clock can have timed to a kind of their own, which no analysis looks at: events without a time, and
 * events that are or reach far outside the rest of the trace. One of them would stretch its step over years. Changes
 * `kind`; returns the kinds with their new counts.
 */
export function setAside(data: Rows, kinds: readonly KindInfo[], problems: ProblemLog): readonly KindInfo[] {
  const isTimed = Uint8Array.from(kinds, (k) => Number(k.phase !== '' && TIMED.includes(k.phase)));
  const possible = possibleTimes(data, isTimed);
  if (possible === null) return kinds;
  const { from, to } = possible;
  const moved = new Uint32Array(kinds.length);
  const aside = Math.min(kinds.length, MAX_KINDS);
  let impossible = 0;
  let first = -1;
  inBlocks(data.rows, (firstRow, lastRow) => {
    for (let row = firstRow; row < lastRow; row++) {
      const kind = data.kind[row]!;
      if (isTimed[kind] === 0) continue;
      const start = data.ts[row]!;
      if (start >= from && start + data.dur[row]! <= to) continue;
      moved[kind]!++;
      data.kind[row] = aside;
      // Events without a time or an end are counted by the reader.
      if (Number.isNaN(start + data.dur[row]!)) continue;
      if (impossible++ === 0) first = row;
    }
  });
  problems.add('impossible-time', IMPOSSIBLE, { unit: 'row', at: first }, impossible);
  const count = moved.reduce((n, m) => n + m, 0);
  if (count === 0) return kinds;
  const left = kinds.map((k, i) => ({ ...k, events: k.events - moved[i]! }));
  const before = left[aside] ?? ASIDE;
  left[aside] = { ...before, events: before.events + count };
  return left;
}

const ASIDE: KindInfo = { phase: '', categoryName: '', category: Category.other, events: 0, folded: 0 };

const IMPOSSIBLE = {
  message: 'an event that begins or ends far outside the rest of the trace',
  consequence: 'its time is impossible, so it is left out of every analysis',
};

/** From the first time an event may begin to the last it may end, ns. Null: all events are there. */
function possibleTimes(data: Rows, isTimed: Uint8Array): { from: number; to: number } | null {
  const { events, untimed, from, secondFrom, secondTo, to } = outermost(data, isTimed);
  const whole = untimed === 0 ? null : { from, to };
  // Nearly always: nothing is far from anything.
  if (!(to - from > LEAST_ALONE) || events < LEAST_EVENTS) return whole;
  const isAlone = (gap: number, rest: number) => gap > Math.max(LEAST_ALONE, LEAST_LENGTHS * rest);
  const first = isAlone(secondFrom - from, secondTo - secondFrom) ? secondFrom : from;
  const last = isAlone(to - secondTo, secondTo - first) ? secondTo : to;
  if (last - first > LEAST_DISTANCE) return aroundMost(data, isTimed, events);
  return first === from && last === to ? whole : { from: first, to: last };
}

/** The two earliest starts and the two latest ends, and how many events lack one of the two. */
function outermost({ rows, ts, dur, kind }: Rows, isTimed: Uint8Array) {
  const found = {
    events: 0,
    untimed: 0,
    from: Number.POSITIVE_INFINITY,
    secondFrom: Number.POSITIVE_INFINITY,
    secondTo: Number.NEGATIVE_INFINITY,
    to: Number.NEGATIVE_INFINITY,
  };
  inBlocks(rows, (firstRow, lastRow) => {
    let { events, untimed, from, secondFrom, secondTo, to } = found;
    for (let row = firstRow; row < lastRow; row++) {
      if (isTimed[kind[row]!] === 0) continue;
      const start = ts[row]!;
      const duration = dur[row]!;
      if (Number.isNaN(start + duration)) untimed++;
      if (Number.isNaN(start)) continue;
      events++;
      if (start < secondFrom) {
        secondFrom = Math.max(start, from);
        from = Math.min(start, from);
      }
      const end = duration < 0 ? start : start + duration;
      if (end > secondTo) {
        secondTo = Math.min(end, to);
        to = Math.max(end, to);
      }
    }
    Object.assign(found, { events, untimed, from, secondFrom, secondTo, to });
  });
  return found;
}

function aroundMost({ rows, ts, dur, kind }: Rows, isTimed: Uint8Array, events: number) {
  const starts = new Float64Array(events);
  const ends = new Float64Array(events);
  let n = 0;
  for (let row = 0; row < rows; row++) {
    if (isTimed[kind[row]!] === 0 || Number.isNaN(ts[row]!)) continue;
    starts[n] = ts[row]!;
    ends[n++] = ts[row]! + Math.max(0, dur[row]!);
  }
  starts.sort();
  ends.sort();
  const odd = Math.min(Math.floor(events / 4), Math.max(LEAST_ODD, Math.floor(events * MOST_ODD)));
  const [first, last] = [starts[odd]!, ends[events - 1 - odd]!];
  const distance = Math.max(LEAST_DISTANCE, LEAST_LENGTHS * (last - first));
  return { from: first - distance, to: last + distance };
}
