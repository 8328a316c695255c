import { type Spans, SpanUnion } from '../base/intervals.js';
import { bytes, formatBytes } from '../base/units.js';
import { COLLECTIVE_KINDS, type RankCollectives } from '../facts/rank-collectives.js';
import { TIME_CLASSES } from '../facts/time-class.js';
import { pack } from './arrange.js';
import type { ClassSpans } from './draw-trace.js';
import { classPaint } from './paint.js';
import { ColumnSlices, SliceBuilder } from './slices.js';
import { Track } from './track.js';

/** A rank's collectives, with how long it waited in each for other ranks (ns). NaN or null: not known. */
export interface WaitedCollectives {
  readonly collectives: RankCollectives;
  readonly waitOf: Float64Array | null;
}

/** A collective waits first and transfers last. */
const waitEnd = ({ collectives: { start }, waitOf }: WaitedCollectives, i: number) =>
  start[i]! + (waitOf?.[i] || 0);

/** Where each collective is drawn: its row, and the index of its transfer in that row. */
export interface CollectiveTrack {
  readonly track: Track;
  readonly rowOf: Uint16Array;
  readonly indexOf: Uint32Array;
}

export function collectiveTrack(waited: WaitedCollectives): CollectiveTrack {
  const { collectives: c } = waited;
  const order = Uint32Array.from({ length: c.length }, (_, i) => i);
  const dur = Float64Array.from(c.start, (s, i) => c.end[i]! - s);
  const { rows, leftOut } = pack(order, { ts: c.start, dur });
  const names: string[] = [];
  const known = new Map<string, number>();
  const idOf = (text: string) => {
    const id = known.get(text) ?? names.push(text) - 1;
    known.set(text, id);
    return id;
  };
  const rowOf = new Uint16Array(c.length);
  const indexOf = new Uint32Array(c.length);
  const drawn = rows.map((entries, row) => {
    const slices = new SliceBuilder();
    for (const i of entries) {
      const name = nameOf(c, i);
      const middle = waitEnd(waited, i);
      if (middle > c.start[i]!)
        slices.add(c.start[i]!, middle, idOf(`wait: ${name}`), classPaint('comms_wait'));
      rowOf[i] = row;
      indexOf[i] = slices.length;
      slices.add(middle, c.end[i]!, idOf(name), classPaint('comms_transfer'));
    }
    return new ColumnSlices(slices.finish());
  });
  const info = { kind: 'collectives', title: 'Collectives', leftOut, training: false } as const;
  return { track: new Track(info, drawn, (id) => names[id]!), rowOf, indexOf };
}

function nameOf({ kind, group, groups, bytes: sizes }: RankCollectives, i: number): string {
  const { description, name, size } = groups[group[i]!]!;
  const of = description || name;
  const moved = Number.isNaN(sizes[i]!) ? '' : `, ${formatBytes(bytes(sizes[i]!))}`;
  return `${COLLECTIVE_KINDS[kind[i]!]}${moved}${of ? `, group ${of.slice(0, 60)}` : ''}${size ? ` of ${size}` : ''}`;
}

/** When the rank waited for others inside collectives. */
function waitSpans(waited: WaitedCollectives): Spans {
  const union = new SpanUnion();
  for (let i = 0; i < waited.collectives.length; i++)
    union.add(waited.collectives.start[i]!, waitEnd(waited, i));
  return union.finish();
}

const COMMUNICATES = ['comms_transfer', 'idle_comms'].map((c) => TIME_CLASSES.indexOf(c as 'idle_comms'));
const WAIT = TIME_CLASSES.indexOf('comms_wait');

/** Exposed communication while the rank waited for others becomes waiting. */
export function withWaits(classes: ClassSpans, waited: WaitedCollectives): ClassSpans {
  const waits = waitSpans(waited);
  if (waits.length === 0) return classes;
  const start: number[] = [];
  const end: number[] = [];
  const kind: number[] = [];
  const add = (from: number, to: number, c: number) => {
    if (!(to > from)) return;
    start.push(from);
    end.push(to);
    kind.push(c);
  };
  let w = 0;
  for (let i = 0; i < classes.start.length; i++) {
    let from = classes.start[i]!;
    const [to, c] = [classes.end[i]!, classes.class[i]!];
    if (COMMUNICATES.includes(c)) {
      while (w < waits.length && waits.end[w]! <= from) w++;
      for (let k = w; k < waits.length && waits.start[k]! < to; k++) {
        add(from, Math.max(from, waits.start[k]!), c);
        add(Math.max(from, waits.start[k]!), Math.min(to, waits.end[k]!), WAIT);
        from = Math.max(from, Math.min(to, waits.end[k]!));
      }
    }
    add(from, to, c);
  }
  return { start: Float64Array.from(start), end: Float64Array.from(end), class: Uint8Array.from(kind) };
}
