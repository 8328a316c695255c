import { type Launches, RankModel, type SliceKnowledge } from './rank-model.js';
import { type RunClock, toOwn } from './run-clocks.js';
import { decodeRow, type EncodedRow } from './slices.js';
import type {
  Arrow,
  Arrows,
  PathPiece,
  SearchHit,
  SliceId,
  TimelineSource,
  TimelineTracks,
  TrackInfo,
} from './timeline.js';
import { CounterTrack, Track } from './track.js';

/** A timeline as a file holds it: of bounded size, without the traces. */
export interface EmbeddedTimeline {
  readonly tracks: TimelineTracks;
  readonly names: readonly string[];
  readonly ranks: readonly EmbeddedRank[];
  /** The longest waits first. */
  readonly late: readonly Arrow[];
  readonly path: readonly PathPiece[];
}

export interface EmbeddedRank {
  readonly rank: number;
  readonly clock: RunClock;
  readonly tracks: readonly EmbeddedTrack[];
  /** As `BoundedDrawing.launches`; tracks count from `launchesFrom`. */
  readonly launches: Uint32Array;
  readonly launchesFrom: number;
}

export interface EmbeddedTrack {
  readonly info: Omit<TrackInfo, 'rows' | 'slices'>;
  /** Names are numbers in `names` of the timeline. */
  readonly rows: readonly EncodedRow[];
  readonly counter: { readonly time: Float64Array; readonly value: Float32Array } | null;
}

/** Arrows that are drawn at once. */
const MOST_LAUNCHES = 40;
const MOST_LATE = 120;

/** Answers from what a file holds. */
export class EmbeddedSource implements TimelineSource {
  readonly #data: EmbeddedTimeline;
  readonly #models = new Map<number, RankModel>();

  constructor(data: EmbeddedTimeline) {
    this.#data = data;
  }

  tracks: TimelineSource['tracks'] = async () => this.#data.tracks;
  open: TimelineSource['open'] = async (rank) => this.#rank(rank).tracks.map((t) => t.info);
  slices: TimelineSource['slices'] = async (query) => this.#rank(query.rank).slices(query);
  detail: TimelineSource['detail'] = async (slice) => this.#rank(slice.rank).detail(slice);
  totals: TimelineSource['totals'] = async ({ rank, from, to }) => this.#rank(rank).totals(from, to);

  async search(text: string, limit: number, ranks: readonly number[]): Promise<readonly SearchHit[]> {
    const wanted = text.trim().toLowerCase();
    if (wanted === '') return [];
    const test = (name: string) => name.toLowerCase().includes(wanted);
    const hits = ranks.flatMap((rank) => this.#rank(rank).search(test, limit));
    return hits.sort((a, b) => a.start - b.start).slice(0, limit);
  }

  async arrows({ from, to, ranks }: Parameters<TimelineSource['arrows']>[0]): Promise<Arrows> {
    const { late, path } = this.#data;
    const isShown = (arrow: Arrow) =>
      ranks.includes(arrow.from.rank) &&
      ranks.includes(arrow.to.rank) &&
      arrow.from.time <= to &&
      arrow.to.time >= from;
    const launches = ranks.flatMap((rank) => this.#rank(rank).launchArrows(from, to, MOST_LAUNCHES));
    return {
      arrows: [...launches, ...late.filter(isShown).slice(0, MOST_LATE)],
      path: path.filter((p) => p.from < to && p.to > from),
    };
  }

  #rank(rank: number): RankModel {
    const known = this.#models.get(rank);
    if (known) return known;
    const data = this.#data.ranks.find((r) => r.rank === rank);
    const line = this.#data.tracks.ranks.find((l) => l.rank === rank);
    if (!data || !line) throw new RangeError('no such rank');
    const links = linksOf(data);
    const until = toOwn(data.clock, line.to);
    const tracks = data.tracks.map((track) => decodeTrack(track, this.#data.names, until));
    const model = new RankModel(line, data.clock, tracks, knowledgeOf(links), launchesOf(links, tracks));
    this.#models.set(rank, model);
    return model;
  }
}

function decodeTrack({ info, rows, counter }: EmbeddedTrack, names: readonly string[], until: number): Track {
  if (counter) return new CounterTrack(info, counter.time, counter.value, until);
  return new Track(info, rows.map(decodeRow), (id) => names[id] ?? '');
}

type Link = readonly [call: SliceId, work: SliceId];

function linksOf({ rank, launches, launchesFrom }: EmbeddedRank): Link[] {
  const slice = (at: number): SliceId => ({
    rank,
    track: launchesFrom + launches[at]!,
    row: launches[at + 1]!,
    index: launches[at + 2]!,
  });
  return Array.from({ length: launches.length / 6 }, (_, i) => [slice(i * 6), slice(i * 6 + 3)]);
}

const isSame = (slice: SliceId, track: number, row: number, index: number) =>
  slice.track === track && slice.row === row && slice.index === index;

const knowledgeOf = (links: readonly Link[]): SliceKnowledge => ({
  fields: () => [],
  related: (track, row, index) =>
    links.flatMap(([call, work]): (readonly [string, SliceId])[] => {
      if (isSame(work, track, row, index)) return [['Launched by', call]];
      return isSame(call, track, row, index) ? [['Launches', work]] : [];
    }),
});

function launchesOf(links: readonly Link[], tracks: readonly Track[]): Launches {
  const startOf = ({ track, row, index }: SliceId) => tracks[track]!.rows[row]!.start(index);
  return (from, to, most) => {
    const inside = links.filter(([call, work]) => {
      const [called, began] = [startOf(call), startOf(work)];
      return called < to && began > from && (called >= from || began <= to);
    });
    return inside.length > most ? [] : inside;
  };
}
