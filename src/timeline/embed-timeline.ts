import type { Diagnosis } from '../answers/diagnosis.js';
import type { BoundedDrawing } from '../drawing/bounded.js';
import { collectiveTrack, withWaits } from '../drawing/collectives.js';
import type { Counter } from '../drawing/counters.js';
import type { EmbeddedRank, EmbeddedTimeline, EmbeddedTrack } from '../drawing/embedded.js';
import { type ColumnSlices, encodeRow } from '../drawing/slices.js';
import type { TimelineTracks } from '../drawing/timeline.js';
import { classTrack, type Track } from '../drawing/track.js';
import { lateArrows, pathOf, type RunFrame, runFrame } from './run-frame.js';

/** More ranks do not fit into a file that can be mailed. */
const MOST_RANKS = 64;
const MOST_LATE = 1500;
const MOST_PIECES = 5000;

/** The timeline for a file, from the bounded drawings of its ranks. Null: there is no trace to draw. */
export function embedTimeline(diagnosis: Diagnosis): EmbeddedTimeline | null {
  const frame = runFrame(diagnosis);
  const chosen = chooseRanks(frame.tracks);
  if (chosen.length === 0) return null;
  const names = new NameList();
  const rowOf = new Map<number, { readonly track: number; readonly rows: Uint16Array }>();
  const ranks = chosen.map((rank): EmbeddedRank => {
    const drawing = frame.members.get(rank)!.bounded!;
    const waited = frame.waited.get(rank) ?? null;
    const collectives = waited && waited.collectives.length > 0 ? collectiveTrack(waited) : null;
    const classes = classTrack(
      waited ? withWaits(drawing.classes, waited) : drawing.classes,
      titleOf(drawing),
    );
    const own = [classes, ...(collectives ? [collectives.track] : [])].map((t) => ownTrack(t, names));
    if (collectives) rowOf.set(rank, { track: own.length - 1, rows: collectives.rowOf });
    return {
      rank,
      clock: frame.clocks.get(rank)!,
      tracks: [
        ...own,
        ...traceTracks(drawing, names),
        ...counterTracks([...drawing.counters, ...(frame.telemetry.get(rank) ?? [])]),
      ],
      launches: drawing.launches,
      launchesFrom: own.length,
    };
  });
  const place = (rank: number, entry: number) => {
    const drawn = rowOf.get(rank);
    return drawn ? { track: drawn.track, row: drawn.rows[entry]! } : null;
  };
  const path = pathOf(frame);
  return {
    tracks: { ...frame.tracks, ranks: chosen.map((r) => frame.lines.get(r)!), notes: notesOf(frame, chosen) },
    names: names.list,
    ranks,
    late: lateArrows(frame, place, frame.tracks, MOST_LATE),
    path: path.length > MOST_PIECES ? [] : path,
  };
}

const titleOf = ({ tracks }: BoundedDrawing) => (tracks.some((t) => t.kind === 'stream') ? 'GPU' : 'Time');

/** Late ranks first, then the others in order. */
function chooseRanks({ ranks }: TimelineTracks): number[] {
  const inOrder = ranks.toSorted((a, b) => Number(b.late) - Number(a.late) || a.rank - b.rank);
  return inOrder
    .slice(0, MOST_RANKS)
    .map((r) => r.rank)
    .sort((a, b) => a - b);
}

/** What the file leaves out, and where it is. */
function notesOf({ tracks, members }: RunFrame, chosen: readonly number[]): string[] {
  const notes = [...tracks.notes];
  const isWhole = chosen.every((rank) => {
    const { detail, from, to } = members.get(rank)!.bounded!;
    return detail?.from === from && detail.to === to;
  });
  if (!isWhole)
    notes.push(
      'This file holds a few steps in full; elsewhere short slices are drawn as one. whyslow open has all of them.',
    );
  if (chosen.length < tracks.ranks.length)
    notes.push(
      `This file holds ${chosen.length} of ${tracks.ranks.length} ranks. whyslow open has all of them.`,
    );
  return notes;
}

/** One list of names for all ranks, which mostly run the same kernels. */
class NameList {
  readonly list: string[] = [];
  readonly #known = new Map<string, number>();

  idOf(text: string): number {
    const id = this.#known.get(text) ?? this.list.push(text) - 1;
    this.#known.set(text, id);
    return id;
  }
}

function ownTrack({ info, rows, textOf }: Track, names: NameList): EmbeddedTrack {
  const { kind, title, training, leftOut } = info;
  const encoded = rows.map((slices) => {
    const { columns } = slices as ColumnSlices;
    return encodeRow({ ...columns, name: columns.name.map((id) => names.idOf(textOf(id))) });
  });
  return { info: { kind, title, training, leftOut }, rows: encoded, counter: null };
}

function traceTracks({ tracks }: BoundedDrawing, names: NameList): EmbeddedTrack[] {
  return tracks.map(({ kind, title, training, leftOut, names: own, rows }) => {
    const ids = own.map((name) => names.idOf(name));
    const renamed = rows.map((row) => {
      const name = Uint32Array.from(row.name, (n) => ids[n]!);
      return { ...row, name: name.some((n) => n > 0xffff) ? name : Uint16Array.from(name) };
    });
    return { info: { kind, title, training, leftOut }, rows: renamed, counter: null };
  });
}

function counterTracks(counters: readonly Counter[]): EmbeddedTrack[] {
  return counters.map(({ title, unit, time, value }) => ({
    info: { kind: 'counter', title, unit, training: false, leftOut: 0 },
    rows: [],
    counter: { time, value: Float32Array.from(value) },
  }));
}
