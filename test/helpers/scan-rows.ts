/** Drives a scanner over the content of a traceEvents array and turns its batches into plain rows. */

import type { Batch, ScannerTables } from '../../src/readers/common/trace-rows/batch.js';
import { COUNTER } from '../../src/readers/common/trace-rows/counters.js';
import {
  NO_I32,
  NO_ID,
  SIDE_TABLES,
  type SideTableName,
  WIDE_FIELDS,
} from '../../src/readers/common/trace-rows/schema.js';
import { type EventScanner, SCAN } from '../../src/readers/kineto/scanner.js';
import {
  type Decoded,
  decoded,
  kindKey,
  type PlainRow,
  type PlainTrace,
  parsePlain,
} from './plain-events.js';

export interface ScannedTrace extends PlainTrace {
  /** File offsets of every 256th row. */
  readonly offsets: readonly number[];
  readonly oddStrings: readonly { readonly token: string; readonly offset: number }[];
  readonly batches: number;
}

export class ScanStopped extends Error {
  readonly status: number;
  /** In the bytes given. */
  readonly at: number;
  constructor(status: number, at: number) {
    super(`scan stopped with ${status} at byte ${at}`);
    this.status = status;
    this.at = at;
  }
}

/**
 * `sizes` are the chunks; the last repeats. Offsets count from `bytes[0]`. Reads to the closing bracket or the end of
 * the bytes; throws ScanStopped on anything else, and on an event without an end.
 */
export function collectRows(
  scanner: EventScanner,
  bytes: Uint8Array,
  sizes: readonly number[],
): ScannedTrace {
  const collector = new Collector(scanner);
  let base = 0; // file offset of buffer[0]
  let fill = 0;
  let status: number = SCAN.needMore;
  for (let at = 0, i = 0; at < bytes.length && status !== SCAN.arrayEnd; i++) {
    const chunk = bytes.subarray(at, at + sizes[Math.min(i, sizes.length - 1)]!);
    at += chunk.length;
    scanner.reserve(fill + chunk.length, fill);
    scanner.buffer.set(chunk, fill);
    fill += chunk.length;
    let from = 0;
    do {
      status = scanner.scan(from, fill, base + from);
      from = scanner.position;
      if (status === SCAN.batchFull) collector.takeBatch();
    } while (status === SCAN.batchFull);
    if (status === SCAN.malformed) throw new ScanStopped(status, base + from);
    scanner.buffer.copyWithin(0, from, fill);
    base += from;
    fill -= from;
  }
  if (status === SCAN.needMore && fill > 0) throw new ScanStopped(status, base);
  collector.takeBatch();
  return collector.finish();
}

/** Columns of a row that need tables which are known only at the end. */
interface RawRow {
  readonly tsNs: number;
  readonly durNs: number;
  readonly name: number;
  readonly external: number;
  readonly correlation: number;
  readonly track: number;
  readonly kind: number;
}
interface RawEntry {
  readonly row: number;
  readonly values: readonly number[];
}

class Collector {
  readonly #scanner: EventScanner;
  readonly #rows: RawRow[] = [];
  readonly #entries = new Map<SideTableName, RawEntry[]>(SIDE_TABLES.map((t) => [t.name, []]));
  readonly #offsets: number[] = [];
  #batches = 0;

  constructor(scanner: EventScanner) {
    this.#scanner = scanner;
  }

  takeBatch(): void {
    const batch = this.#scanner.finishBatch();
    this.#batches++;
    for (let i = 0; i < batch.rows; i++) this.#rows.push(rawRow(batch, i));
    for (const { name } of SIDE_TABLES) {
      const { rows, row, columns } = batch.side[name];
      const entries = this.#entries.get(name)!;
      for (let i = 0; i < rows; i++) entries.push({ row: row[i]!, values: columns.map((c) => c[i]!) });
    }
    this.#offsets.push(...batch.offsets);
    this.#scanner.startBatch();
  }

  finish(): ScannedTrace {
    const tables = this.#scanner.finish();
    const text = new Tokens(tables);
    const kind = (k: number) => kindKey(tables.kinds[k]!.phase, text.decode(tables.kinds[k]!.category));
    const side = this.#sideByRow(text);
    const wide = this.#wideByRow(text);
    const durations = new Map(this.#entries.get('wideDurations')!.map((e) => [e.row, e.values[0]]));
    const rows = this.#rows.map(
      (r, i): PlainRow => ({
        phase: tables.kinds[r.kind]!.phase,
        category: text.decode(tables.kinds[r.kind]!.category),
        name: text.decode(r.name),
        pid: text.decode(tables.tracks[r.track]!.pid),
        tid: text.decode(tables.tracks[r.track]!.tid),
        tsNs: Number.isNaN(r.tsNs) ? null : tables.baseNs + BigInt(r.tsNs),
        durNs: r.durNs === 0xffffffff ? durations.get(i)! : r.durNs,
        external: r.external === NO_ID ? null : r.external,
        correlation: r.correlation === NO_ID ? null : r.correlation,
        wide: wide.get(i) ?? {},
        side: side.get(i) ?? {},
      }),
    );
    return {
      rows,
      kinds: plainKinds(tables, kind),
      flows: this.#entries
        .get('flows')!
        .map((e) => ({ row: e.row, id: e.values[0]!, kind: kind(e.values[1]!) })),
      baseNs: tables.baseNs,
      counters: Object.fromEntries(
        Object.entries(COUNTER).map(([name, i]) => [name, tables.counters[i]!.count]),
      ),
      offsets: this.#offsets,
      oddStrings: tables.oddStrings.map(({ id, offset }) => ({ token: text.raw(id), offset })),
      batches: this.#batches,
    };
  }

  #sideByRow(text: Tokens): Map<number, Record<string, Record<string, Decoded>>> {
    const byRow = new Map<number, Record<string, Record<string, Decoded>>>();
    for (const { name, columns } of SIDE_TABLES.slice(3)) {
      for (const { row, values } of this.#entries.get(name)!) {
        const entry = Object.entries(columns).map(([column, type], c) => [
          column,
          plainCell(type, values[c]!, text),
        ]);
        byRow.set(row, { ...byRow.get(row), [name]: Object.fromEntries(entry) });
      }
    }
    return byRow;
  }

  #wideByRow(text: Tokens): Map<number, Record<string, Decoded>> {
    const byRow = new Map<number, Record<string, Decoded>>();
    for (const { row, values } of this.#entries.get('wideIds')!) {
      const fields: Record<string, Decoded> = {};
      for (let slot = 0; slot < values.length; slot += 2) {
        if (values[slot] !== NO_ID) fields[wideField(values[slot]!)] = text.decode(values[slot + 1]!)!;
      }
      byRow.set(row, fields);
    }
    return byRow;
  }
}

function rawRow(batch: Batch, i: number): RawRow {
  return {
    tsNs: batch.ts[i]!,
    durNs: batch.dur[i]!,
    name: batch.name[i]!,
    external: batch.external[i]!,
    correlation: batch.correlation[i]!,
    track: batch.track[i]!,
    kind: batch.kind[i]!,
  };
}

function plainKinds(tables: ScannerTables, key: (kind: number) => string): PlainTrace['kinds'] {
  const kinds: Record<string, { events: number; folded: number }> = {};
  tables.kinds.forEach(({ events, folded }, k) => {
    if (events === 0) return;
    // Two spellings of one category, such as "a/b" and "a\/b", are two kinds to a scanner.
    const known = kinds[key(k)] ?? { events: 0, folded: 0 };
    kinds[key(k)] = { events: known.events + events, folded: known.folded + folded };
  });
  return kinds;
}

function plainCell(type: string, value: number, text: Tokens): Decoded {
  if (type === 'token') return text.decode(value) ?? null;
  return Number.isNaN(value) || (type === 'u32' && value === NO_ID) || (type === 'i32' && value === NO_I32)
    ? null
    : value;
}

function wideField(number: number): string {
  if (number < WIDE_FIELDS.side) return Object.keys(WIDE_FIELDS)[number]!;
  const table = SIDE_TABLES[(number - WIDE_FIELDS.side) >> 8]!;
  return `${table.name}.${Object.keys(table.columns)[number & 0xff]}`;
}

class Tokens {
  readonly #tables: ScannerTables;
  readonly #decoded = new Map<number, Decoded>();

  constructor(tables: ScannerTables) {
    this.#tables = tables;
  }

  raw(id: number): string {
    const { stringBytes, stringStarts } = this.#tables;
    return Buffer.from(stringBytes.subarray(stringStarts[id], stringStarts[id + 1])).toString();
  }

  decode(id: number): Decoded | undefined {
    if (id === 0) return undefined;
    if (!this.#decoded.has(id)) this.#decoded.set(id, decoded(parsePlain(this.raw(id))));
    return this.#decoded.get(id);
  }
}
