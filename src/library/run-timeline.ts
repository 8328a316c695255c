import { InputError } from '../base/input-error.js';
import { namedRanks } from '../base/rank-ranges.js';
import type { Diagnosis } from '../diagnosis/diagnosis.js';
import { type RunClock, toRun } from '../drawing/clock.js';
import type { WaitedCollectives } from '../drawing/collectives.js';
import type { TraceDrawing } from '../drawing/draw-trace.js';
import { runClocks } from '../drawing/run-clocks.js';
import type { Arrows, RankLine, SearchHit, TimelineSource, TimelineTracks } from '../drawing/timeline.js';
import { type TraceRank, traceRank } from '../drawing/trace-rank.js';
import { isTraceMember, type TraceMember } from '../ingest/member.js';
import { Trace } from '../model/trace.js';
import type { Comparison } from '../run/compare.js';
import { lateArrows } from './late-arrows.js';
import { bytesOf, RecentRanks } from './recent-ranks.js';

/** Reads a trace again, with its columns. */
export type ReadColumns = (member: TraceMember) => Promise<TraceMember>;

/** Arrows that are drawn at once: more cannot be told apart. Launches are drawn all or not at all. */
const MOST_LAUNCHES = 40;
const MOST_LATE = 120;

/** One rank that can be drawn. */
interface Drawable {
  readonly rank: number;
  readonly member: TraceMember & { readonly drawing: TraceDrawing };
}

/** The timeline of a run that was read: the whole traces, in memory as far as they fit. */
export class RunTimeline implements TimelineSource {
  readonly #drawable: ReadonlyMap<number, Drawable>;
  readonly #lines: ReadonlyMap<number, RankLine>;
  readonly #clocks: ReadonlyMap<number, RunClock>;
  readonly #comparison: Comparison | null;
  readonly #waited: ReadonlyMap<number, WaitedCollectives>;
  readonly #tracks: TimelineTracks;
  readonly #recent: RecentRanks<TraceRank>;

  constructor(diagnosis: Diagnosis, read: ReadColumns, limitBytes: number) {
    const { drawable, notes } = drawableRanks(diagnosis);
    this.#drawable = new Map(drawable.map((d) => [d.rank, d]));
    this.#comparison = diagnosis.comparison?.traced ?? diagnosis.comparison;
    this.#waited = waitedCollectives(diagnosis, this.#comparison);
    const compared = (this.#comparison?.clocks.ranks ?? []).filter((c) => this.#waited.has(c.rank));
    const recorded = drawable.map(({ rank, member: { drawing } }) => ({ rank, ...drawing }));
    const { clocks, unaligned } = runClocks(recorded, compared);
    this.#clocks = clocks;
    const lines = drawable.map((d) => lineOf(d, clocks.get(d.rank)!, diagnosis));
    this.#lines = new Map(lines.map((l) => [l.rank, l]));
    this.#tracks = {
      from: 0,
      to: lines.reduce((to, l) => Math.max(to, l.to), 0),
      ranks: lines,
      notes:
        unaligned.length > 0
          ? [
              ...notes,
              `The clocks of ${namedRanks(unaligned)} could not be aligned: they begin with the others.`,
            ]
          : notes,
    };
    this.#recent = new RecentRanks(limitBytes, async (rank) => {
      const { member } = this.#drawable.get(rank)!;
      const whole = member.trace ? member : await read(member);
      if (!whole.trace || !whole.drawing)
        throw new InputError(`the trace of rank ${rank} can no longer be read`);
      return this.#build(rank, whole.trace, whole.drawing);
    });
    // Those that were kept on the first reading. The rest is read when it is looked at.
    for (const { rank, member } of drawable) {
      if (!member.trace || !this.#recent.hasRoom) break;
      const built = this.#build(rank, member.trace, member.drawing);
      built.value.model.prepare();
      this.#recent.put(rank, built);
    }
    this.#drawable = new Map(
      drawable.map(({ rank, member }) => [rank, { rank, member: { ...member, trace: null } }]),
    );
  }

  /** False: no rank has a trace. */
  get hasRanks(): boolean {
    return this.#lines.size > 0;
  }

  tracks: TimelineSource['tracks'] = async () => this.#tracks;
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
    const shown = ranks.filter((r) => this.#lines.has(r));
    const open = new Map<number, TraceRank>();
    for (const rank of shown) open.set(rank, await this.#opened(rank));
    const launches = [...open.values()].flatMap(({ model }) => model.launchArrows(from, to, MOST_LAUNCHES));
    const late = this.#comparison
      ? lateArrows(this.#comparison, this.#waited, open, this.#clocks, { from, to }, MOST_LATE)
      : [];
    const path = (this.#comparison?.path?.pieces ?? []).flatMap((piece) => {
      const clock = this.#clocks.get(piece.rank);
      if (!clock || !this.#waited.has(piece.rank)) return [];
      const [start, end] = [toRun(clock, piece.from), toRun(clock, piece.to)];
      return start < to && end > from ? [{ rank: piece.rank, from: start, to: end }] : [];
    });
    return { arrows: [...launches, ...late], path: path.length > MOST_PIECES ? [] : path };
  }

  async #rank(rank: number) {
    return (await this.#opened(rank)).model;
  }

  #opened(rank: number): Promise<TraceRank> {
    if (!this.#lines.has(rank)) throw new RangeError('no such rank');
    return this.#recent.get(rank);
  }

  #build(rank: number, data: NonNullable<TraceMember['trace']>, drawing: TraceDrawing) {
    const [line, clock] = [this.#lines.get(rank)!, this.#clocks.get(rank)!];
    const built = traceRank(new Trace(data), drawing, line, clock, this.#waited.get(rank) ?? null);
    return { value: built, bytes: bytesOf(data) + bytesOf(drawing) };
  }
}

const MOST_PIECES = 5000;

/** One trace of each rank. */
function drawableRanks({ members }: Diagnosis): { drawable: Drawable[]; notes: string[] } {
  const drawable = new Map<number, Drawable>();
  const notes: string[] = [];
  for (const { rank, member } of members) {
    if (!isTraceMember(member) || !member.drawing) continue;
    if (drawable.has(rank)) notes.push(`Rank ${rank} has several traces: ${member.path} is not drawn.`);
    else drawable.set(rank, { rank, member: { ...member, drawing: member.drawing } });
  }
  return { drawable: [...drawable.values()].sort((a, b) => a.rank - b.rank), notes };
}

/** Collectives of traces, with waits where ranks were compared by them. */
function waitedCollectives({ views }: Diagnosis, comparison: Comparison | null) {
  return new Map(
    views.flatMap(({ rank, source, facts: { collectives } }) => {
      if (source !== 'trace' || !collectives?.timed) return [];
      const waitOf = comparison?.waits.waitOf[comparison.matched.ranks.indexOf(rank)] ?? null;
      // Waits of the rank's log have other entries.
      const waited = waitOf?.length === collectives.length ? waitOf : null;
      return [[rank, { collectives, waitOf: waited }] as const];
    }),
  );
}

function lineOf({ rank, member: { drawing } }: Drawable, clock: RunClock, diagnosis: Diagnosis): RankLine {
  const { locations, comparison } = diagnosis;
  const host = locations.ranks.get(rank)?.host;
  const { number, from, to } = drawing.steps;
  return {
    rank,
    title: host ? `Rank ${rank} · ${host}` : `Rank ${rank}`,
    late: comparison?.late.some((l) => l.ranks.includes(rank)) ?? false,
    begin: toRun(clock, 0),
    from: toRun(clock, drawing.from),
    to: toRun(clock, drawing.to),
    steps: Array.from(number, (n, i) => ({
      number: n,
      from: toRun(clock, from[i]!),
      to: toRun(clock, to[i]!),
    })),
  };
}
