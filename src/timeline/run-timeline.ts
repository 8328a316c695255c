import type { Diagnosis } from '../answers/diagnosis.js';
import { InputError } from '../base/input-error.js';
import type { TraceDrawing } from '../drawing/draw-trace.js';
import type { Arrows, PathPiece, SearchHit, TimelineSource } from '../drawing/timeline.js';
import { type TraceRank, traceRank } from '../drawing/trace-rank.js';
import type { TraceInput } from '../ingest/input.js';
import { Trace } from '../model/trace.js';
import type { TraceData } from '../model/trace-data.js';
import { lateArrows, pathOf, type RunFrame, runFrame } from './run-frame.js';

interface Kept<T> {
  readonly value: T;
  readonly bytes: number;
}

/** Ranks in memory up to a limit. The one that was not asked for the longest goes first; the newest stays in any case. */
export class RecentRanks<T> {
  readonly #kept = new Map<number, Kept<T>>();
  readonly #coming = new Map<number, Promise<T>>();
  #bytes = 0;

  constructor(
    readonly limitBytes: number,
    readonly load: (rank: number) => Promise<Kept<T>>,
  ) {}

  get hasRoom(): boolean {
    return this.#bytes < this.limitBytes;
  }

  async get(rank: number): Promise<T> {
    const kept = this.#kept.get(rank);
    if (kept) {
      // Asked for last, so that it goes last.
      this.#kept.delete(rank);
      this.#kept.set(rank, kept);
      return kept.value;
    }
    const coming = this.#coming.get(rank) ?? this.#fetch(rank);
    this.#coming.set(rank, coming);
    return coming;
  }

  put(rank: number, kept: Kept<T>): void {
    this.#kept.set(rank, kept);
    this.#bytes += kept.bytes;
    for (const [old, { bytes }] of this.#kept) {
      if (this.#bytes <= this.limitBytes || old === rank) break;
      this.#kept.delete(old);
      this.#bytes -= bytes;
    }
  }

  async #fetch(rank: number): Promise<T> {
    try {
      const kept = await this.load(rank);
      this.put(rank, kept);
      return kept.value;
    } finally {
      this.#coming.delete(rank);
    }
  }
}

/** Memory of the columns in plain data. */
export function bytesOf(value: unknown): number {
  if (ArrayBuffer.isView(value)) return value.byteLength;
  if (typeof value !== 'object' || value === null) return 0;
  let sum = 0;
  for (const item of Object.values(value)) if (typeof item === 'object') sum += bytesOf(item);
  return sum;
}

/** Reads a trace again, with its columns. */
export type ReadColumns = (member: TraceInput) => Promise<TraceInput>;

/** Arrows that are drawn at once: more cannot be distinguished. Launches are drawn all or not at all. */
const MOST_LAUNCHES = 40;
const MOST_LATE = 120;
const MOST_PIECES = 5000;

/** The timeline of a run that was read: the whole traces, in memory as far as they fit. */
export class RunTimeline implements TimelineSource {
  readonly #frame: RunFrame;
  readonly #path: readonly PathPiece[];
  readonly #recent: RecentRanks<TraceRank>;

  constructor(diagnosis: Diagnosis, read: ReadColumns, limitBytes: number) {
    const frame = runFrame(diagnosis);
    this.#path = pathOf(frame);
    // The columns are kept in one place, where they can be dropped.
    const members = new Map([...frame.members].map(([rank, m]) => [rank, { ...m, trace: null }]));
    this.#frame = { ...frame, members };
    this.#recent = new RecentRanks(limitBytes, async (rank) => {
      const { trace, drawing } = await read(members.get(rank)!);
      if (!trace || !drawing) throw new InputError(`the trace of rank ${rank} can no longer be read`);
      return this.#build(rank, trace, drawing);
    });
    // Those that were kept on the first reading. The others are read when they are looked at.
    for (const [rank, { trace, drawing }] of frame.members) {
      if (!trace || !drawing || !this.#recent.hasRoom) break;
      const built = this.#build(rank, trace, drawing);
      built.value.model.prepare();
      this.#recent.put(rank, built);
    }
  }

  /** False: no rank has a trace. */
  get hasRanks(): boolean {
    return this.#frame.lines.size > 0;
  }

  tracks: TimelineSource['tracks'] = async () => this.#frame.tracks;
  open: TimelineSource['open'] = async (rank) => (await this.#rank(rank)).tracks.map((t) => t.info);
  slices: TimelineSource['slices'] = async (query) => (await this.#rank(query.rank)).slices(query);
  detail: TimelineSource['detail'] = async (slice) => (await this.#rank(slice.rank)).detail(slice);
  totals: TimelineSource['totals'] = async ({ rank, from, to }) => (await this.#rank(rank)).totals(from, to);

  /** In the ranks that are shown: reading all of a large run would take minutes. */
  async search(text: string, limit: number, ranks: readonly number[]): Promise<readonly SearchHit[]> {
    const wanted = text.trim().toLowerCase();
    if (wanted === '') return [];
    const hits: SearchHit[] = [];
    for (const rank of ranks) {
      const model = await this.#rank(rank);
      for (const hit of model.search((name) => name.toLowerCase().includes(wanted), limit)) hits.push(hit);
    }
    return hits.sort((a, b) => a.start - b.start).slice(0, limit);
  }

  async arrows({ from, to, ranks }: Parameters<TimelineSource['arrows']>[0]): Promise<Arrows> {
    const open = new Map<number, TraceRank>();
    for (const rank of ranks) open.set(rank, await this.#opened(rank));
    const launches = [...open.values()].flatMap(({ model }) => model.launchArrows(from, to, MOST_LAUNCHES));
    const rowOf = (rank: number, entry: number) => {
      const drawn = open.get(rank);
      return drawn?.collectives ? { track: drawn.collectivesAt, row: drawn.collectives.rowOf[entry]! } : null;
    };
    const late = lateArrows(this.#frame, rowOf, { from, to }, MOST_LATE);
    const path = this.#path.filter((p) => p.from < to && p.to > from);
    return { arrows: [...launches, ...late], path: path.length > MOST_PIECES ? [] : path };
  }

  async #rank(rank: number) {
    return (await this.#opened(rank)).model;
  }

  #opened(rank: number): Promise<TraceRank> {
    if (!this.#frame.lines.has(rank)) throw new RangeError('no such rank');
    return this.#recent.get(rank);
  }

  #build(rank: number, data: TraceData, drawing: TraceDrawing) {
    const { lines, clocks, waited, telemetry } = this.#frame;
    const trace = new Trace(data);
    const counters = [...drawing.counters, ...(telemetry.get(rank) ?? [])];
    const value = traceRank(
      trace,
      { ...drawing, counters },
      lines.get(rank)!,
      clocks.get(rank)!,
      waited.get(rank) ?? null,
    );
    return { value, bytes: bytesOf(data) + bytesOf(drawing) };
  }
}
