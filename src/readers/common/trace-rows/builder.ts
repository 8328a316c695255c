import { Column } from '../../../base/columns.js';
import type { ProblemLog } from '../../../base/problem.js';
import { categoryOf } from '../../../model/category.js';
import { StringTable } from '../../../model/string-table.js';
import type { KindInfo, TraceData, TraceHeader, WideId } from '../../../model/trace-data.js';
import type { Batch, ScannerTables } from './batch.js';
import { nameCopies } from './copy-names.js';
import { MAX_TRACKS, SIDE_TABLES, type SideTableName, WIDE_FIELDS } from './schema.js';
import { setAside } from './set-aside.js';
import { type SideArrays, SideColumns } from './side-columns.js';

/** Joins the scanner's batches to the columns of the model, each in the narrowest type that holds it. */
export class TraceBuilder {
  readonly #progress: () => number;
  #rows = 0;
  readonly #ts = new Column(Float64Array);
  #dur: Column<Uint32Array> | Column<Float64Array> = new Column(Uint32Array);
  #name: Column<Uint16Array> | Column<Uint32Array> = new Column(Uint16Array);
  readonly #external = new Column(Uint32Array);
  readonly #correlation = new Column(Uint32Array);
  #track: Column<Uint8Array> | Column<Uint16Array> = new Column(Uint8Array);
  readonly #kind = new Column(Uint8Array);
  readonly #offsets = new Column(Float64Array);
  readonly #tooWide: WideId[] = [];
  readonly #side = SIDE_TABLES.map((schema) => new SideColumns(schema));

  /** `progress`: share of the file that has been read, 0..1; NaN when unknown. Used to size the columns. */
  constructor(progress: () => number) {
    this.#progress = progress;
  }

  append(batch: Batch): void {
    const first = this.#rows;
    this.#rows += batch.rows;
    const growth = this.#growth();
    const expected = this.#rows * growth;
    this.#ts.append(batch.ts, expected);
    this.#appendDurations(batch, expected);
    if (this.#dur.length !== first + batch.rows) throw new Error('columns out of step');
    if (batch.strings > 0xffff && this.#name.type === Uint16Array)
      this.#name = this.#name.widened(Uint32Array, expected);
    this.#name.append(batch.name, expected);
    this.#external.append(batch.external, expected);
    this.#correlation.append(batch.correlation, expected);
    if (batch.tracks > 0xff && this.#track.type === Uint8Array)
      this.#track = this.#track.widened(Uint16Array, expected);
    this.#track.append(batch.track, expected);
    this.#kind.append(batch.kind, expected);
    this.#offsets.append(batch.offsets, expected / 256 + 1);
    SIDE_TABLES.forEach((t, i) => {
      this.#side[i]!.append(batch.side[t.name], growth, batch.strings, (row, column, value) => {
        this.#tooWide.push({ row, field: `${t.name}.${column}`, text: String(value) });
      });
    });
  }

  /**
   * How many rows to make room for per row read so far. Generous, above all early on when little is known: memory that is
   * never written costs nothing, while growing later copies a column that may have hundreds of megabytes.
   */
  #growth(): number {
    const done = this.#progress();
    if (!(done > 0)) return 1.5;
    return Math.min((done < 0.05 ? 2.5 : 1.3) / done, 10_000);
  }

  #appendDurations(batch: Batch, expected: number): void {
    const wide = batch.side.wideDurations;
    if (wide.rows > 0 && this.#dur.type === Uint32Array)
      this.#dur = this.#dur.widened(Float64Array, expected);
    this.#dur.append(batch.dur, expected);
    const ns = wide.columns[0]!;
    for (let i = 0; i < wide.rows; i++) this.#dur.set(wide.row[i]!, ns[i]!);
  }

  /** For formats that tell the end of an event later. NaN: it has none, so no analysis uses it. */
  setDuration(row: number, ns: number): void {
    if (!(ns >= 0 && ns < 2 ** 32) && this.#dur.type === Uint32Array)
      this.#dur = this.#dur.widened(Float64Array, this.#rows * this.#growth());
    this.#dur.set(row, ns);
  }

  finish(tables: ScannerTables, header: TraceHeader, isCut: boolean, problems: ProblemLog): TraceData {
    const strings = { bytes: tables.stringBytes, starts: tables.stringStarts };
    const text = new StringTable(strings);
    const written = tables.kinds.map((k): KindInfo => {
      const categoryName = text.text(k.category);
      const { phase, events, folded } = k;
      return { phase, categoryName, category: categoryOf(categoryName, phase), events, folded };
    });
    const columns = {
      rows: this.#rows,
      ts: this.#ts.finish(),
      kind: this.#kind.finish(),
      track: this.#track.finish(),
    };
    const paired = pairBeginEnd(columns, this.#dur.finish(), written, problems);
    const rows = { ...columns, dur: paired.dur };
    const kinds = setAside(rows, paired.kinds, problems);
    const all = Object.fromEntries(SIDE_TABLES.map((t, i) => [t.name, this.#side[i]!.finish()]));
    // In these two the scanner keeps what its columns cannot hold. They are merged into other columns.
    const { wideIds: wide, wideDurations: _merged, copies: allOfCopies, ...side } = all;
    const { direction: _d, source: _s, destination: _t, ...copies } = allOfCopies!;
    return {
      ...rows,
      external: this.#external.finish(),
      correlation: this.#correlation.finish(),
      offsets: this.#offsets.finish(),
      kinds,
      tracks: [
        ...tables.tracks.map((t) => ({ pid: text.text(t.pid), tid: text.text(t.tid) })),
        ...(tables.tracks.length === MAX_TRACKS ? [{ pid: 'other', tid: 'other' }] : []),
      ],
      ...nameCopies({ name: this.#name.finish(), strings }, allOfCopies!),
      baseNs: tables.baseNs,
      header,
      isCut,
      ...({ ...side, copies } as unknown as SideModel),
      wideIds: [...wideIds(wide!, text), ...this.#tooWide].sort((a, b) => a.row - b.row),
    };
  }
}

type SideModel = Pick<TraceData, Exclude<SideTableName, 'wideIds' | 'wideDurations'>>;

function wideIds(table: SideArrays, text: StringTable): WideId[] {
  const out: WideId[] = [];
  for (let i = 0; i < table.row!.length; i++) {
    for (let slot = 0; slot < 4; slot++) {
      const token = table[`token${slot}`]![i]!;
      if (token === 0) continue;
      out.push({ row: table.row![i]!, field: wideField(table[`field${slot}`]![i]!), text: text.text(token) });
    }
  }
  return out;
}

function wideField(field: number): string {
  if (field < WIDE_FIELDS.side) return Object.keys(WIDE_FIELDS)[field]!;
  const table = SIDE_TABLES[(field - WIDE_FIELDS.side) >> 8]!;
  return `${table.name}.${Object.keys(table.columns)[field & 0xff]!}`;
}

type Durations = TraceData['dur'];

/**
 * Makes complete events ("X") of begin events ("B"), so that nobody else needs to know them. An end event ("E") closes the
 * latest open one on its track, as in Chrome. Kineto writes neither; other tools with the same format do.
 */
function pairBeginEnd(
  columns: Pick<TraceData, 'rows' | 'ts' | 'kind' | 'track'>,
  dur: Durations,
  kinds: readonly KindInfo[],
  problems: ProblemLog,
): { readonly dur: Durations; readonly kinds: readonly KindInfo[] } {
  const begins = kinds.map((k) => k.phase === 'B');
  const ends = kinds.map((k) => k.phase === 'E');
  if (!begins.includes(true) && !ends.includes(true)) return { dur, kinds };
  const open = new Map<number, number[]>();
  const pairs: { readonly row: number; readonly ns: number }[] = [];
  let unmatched = 0;
  for (let row = 0; row < columns.rows; row++) {
    const kind = columns.kind[row]!;
    const track = columns.track[row]!;
    if (begins[kind]) {
      const stack = open.get(track) ?? [];
      stack.push(row);
      open.set(track, stack);
    } else if (ends[kind]) {
      const begin = open.get(track)?.pop();
      if (begin === undefined) unmatched++;
      else pairs.push({ row: begin, ns: columns.ts[row]! - columns.ts[begin]! });
    }
  }
  for (const rows of open.values()) unmatched += rows.length;
  problems.add('unmatched-begin-end', UNMATCHED, null, unmatched);
  const fits = pairs.every((p) => p.ns >= 0 && p.ns < 0xffffffff);
  const out: Durations = fits || dur instanceof Float64Array ? dur : Float64Array.from(dur);
  for (const p of pairs) out[p.row] = Number.isFinite(p.ns) ? p.ns : 0;
  return { dur: out, kinds: kinds.map((k) => (k.phase === 'B' ? { ...k, phase: 'X' } : k)) };
}

const UNMATCHED = {
  message: 'a begin event ("B") without its end ("E"), or the other way round',
  consequence: 'its duration counts as 0',
};
