import type { NumericArray } from '../../base/columns.js';
import type { StringData } from '../../model/string-table.js';
import {
  type CollectiveTable,
  type KindInfo,
  NO_ID,
  type StringIds,
  type TraceData,
  type TraceHeader,
} from '../../model/trace-data.js';
import { type Events, KINDS } from './event-columns.js';

/** Names of thousands of characters are templates, and what tells them apart comes first. */
export const MAX_NAME = 1 << 14;

/** What stands in place of a name that the file does not have. */
const MISSING = '(name missing)';

/**
 * Texts of a trace, by the ids of nsys or by themselves. Ids get their text later: only those in use are worth reading, of
 * what may be millions of symbols.
 */
export class NsysStrings {
  readonly #tokens = new Map<number | string, number>();
  /** By token. Null: its text is not known yet. Token 0 means "none". */
  readonly #texts: (string | null)[] = [''];

  /** The token of a string in the file's table of strings. */
  ofId(id: number): number {
    return Number.isNaN(id) ? 0 : this.#token(id, null);
  }

  ofText(text: string): number {
    return this.#token(text, text);
  }

  isWanted(id: number): boolean {
    return this.#tokens.has(id);
  }

  /** Gives an id its text. */
  resolve(id: number, text: string): void {
    this.#texts[this.#tokens.get(id)!] = text;
  }

  text(token: number): string {
    return this.#texts[token] ?? MISSING;
  }

  get size(): number {
    return this.#texts.length;
  }

  /** Names in use that the file lacks. */
  get missing(): number {
    return this.#texts.reduce((n, text) => n + Number(text === null), 0);
  }

  finish(): StringData {
    const tokens = this.#texts.map((text, i) => (i === 0 ? '' : JSON.stringify(text ?? MISSING)));
    const starts = new Uint32Array(tokens.length + 1);
    for (const [i, token] of tokens.entries()) starts[i + 1] = starts[i]! + Buffer.byteLength(token);
    const bytes = new Uint8Array(starts.at(-1)!);
    const buffer = Buffer.from(bytes.buffer);
    for (const [i, token] of tokens.entries()) buffer.write(token, starts[i]!);
    return { bytes, starts };
  }

  #token(key: number | string, text: string | null): number {
    const known = this.#tokens.get(key);
    if (known !== undefined) return known;
    const token = this.#texts.push(text) - 1;
    this.#tokens.set(key, token);
    return token;
  }
}

/** The collected rows of the processes that are kept, as the columns of the model. */
export function toTraceData(
  events: Events,
  strings: NsysStrings,
  header: TraceHeader,
  baseNs: bigint,
  isKept: (process: number) => boolean,
): TraceData {
  const { rows, tracks } = events;
  const kept = indicesWhere(rows.process.length, (row) => isKept(rows.process[row]!));
  const newRow = new Int32Array(rows.process.length).fill(-1);
  for (let i = 0; i < kept.length; i++) newRow[kept[i]!] = i;
  /** The entries of a side table whose row is kept. */
  const entries = (row: Uint32Array) => indicesWhere(row.length, (i) => newRow[row[i]!]! >= 0);
  const [gpu, graphs, copies] = [
    entries(events.gpu.row),
    entries(events.graphs.row),
    entries(events.copies.row),
  ];
  const rowsOf = (row: Uint32Array, at: Uint32Array) => at.map((i) => newRow[row[i]!]!);
  const ids = (tokens: Uint32Array): StringIds => (strings.size > 0xffff ? tokens : new Uint16Array(tokens));
  const kind = pick(Uint8Array, rows.kind, kept);
  const dur = pick(Float64Array, rows.dur, kept);
  const copyRow = rowsOf(events.copies.row, copies);
  const bytes = pick(Float64Array, events.copies.bytes, copies);
  return {
    rows: kept.length,
    ts: pick(Float64Array, rows.ts, kept),
    dur: dur.every((d) => d < 2 ** 32) ? new Uint32Array(dur) : dur,
    name: ids(pick(Uint32Array, rows.name, kept)),
    external: new Uint32Array(kept.length).fill(NO_ID),
    correlation: pick(Uint32Array, rows.correlation, kept),
    track: pick(Uint16Array, rows.track, kept),
    kind,
    // Events cannot be read again from their position.
    offsets: new Float64Array(0),
    kinds: kindsOf(kind),
    tracks,
    strings: strings.finish(),
    baseNs,
    header,
    gpu: {
      row: rowsOf(events.gpu.row, gpu),
      stream: pick(Int32Array, events.gpu.stream, gpu),
      device: pick(Uint8Array, events.gpu.device, gpu),
      grid: ids(pick(Uint32Array, events.gpu.grid, gpu)),
      block: ids(pick(Uint32Array, events.gpu.block, gpu)),
      registers: pick(Uint16Array, events.gpu.registers, gpu),
      sharedMemory: pick(Uint32Array, events.gpu.sharedMemory, gpu),
      occupancy: new Float32Array(gpu.length).fill(Number.NaN),
    },
    graphs: {
      row: rowsOf(events.graphs.row, graphs),
      graph: pick(Uint32Array, events.graphs.graph, graphs),
      node: pick(Uint32Array, events.graphs.node, graphs),
    },
    // Bytes per nanosecond are GB/s.
    copies: { row: copyRow, bytes, bandwidth: bytes.map((b, i) => b / (dur[copyRow[i]!]! || Number.NaN)) },
    ...withoutTorch(),
  };
}

function indicesWhere(length: number, test: (i: number) => boolean): Uint32Array {
  const found = new Uint32Array(length);
  let count = 0;
  for (let i = 0; i < length; i++) if (test(i)) found[count++] = i;
  return found.slice(0, count);
}

function pick<T extends NumericArray>(type: new (length: number) => T, from: T, at: Uint32Array): T {
  if (at.length === from.length) return from;
  const picked = new type(at.length);
  for (let i = 0; i < at.length; i++) picked[i] = from[at[i]!]!;
  return picked;
}

function kindsOf(kind: Uint8Array): KindInfo[] {
  const events = new Uint32Array(KINDS.length);
  for (let i = 0; i < kind.length; i++) events[kind[i]!]!++;
  return KINDS.map(([categoryName, category, phase], i) => ({
    phase,
    categoryName,
    category,
    events: events[i]!,
    folded: 0,
  }));
}

/** What only the profiler of torch records. */
function withoutTorch() {
  const [row, u16, f64, i32] = [
    new Uint32Array(0),
    new Uint16Array(0),
    new Float64Array(0),
    new Int32Array(0),
  ];
  const collectives: CollectiveTable = {
    row,
    collective: u16,
    dtype: u16,
    groupName: u16,
    groupDescription: u16,
    groupRanks: u16,
    commsId: u16,
    isAsync: u16,
    inSplit: u16,
    outSplit: u16,
    inElements: f64,
    outElements: f64,
    groupSize: f64,
    rank: f64,
    sourceRank: f64,
    destinationRank: f64,
    sequence: f64,
    rankStart: f64,
    rankStride: f64,
  };
  return {
    collectives,
    ops: { row, sequence: row, forwardThread: u16 },
    shapes: { row, dims: u16, types: u16, values: u16 },
    python: { row, id: row, parent: row, module: row },
    syncs: { row, kind: u16, stream: i32, event: i32, recordCorrelation: i32 },
    memory: { row, bytes: f64, address: f64, allocated: f64, reserved: f64, deviceType: i32, deviceId: i32 },
    metadata: { row, name: u16, labels: u16, sortIndex: f64 },
    flows: { row, id: row, kind: new Uint8Array(0) },
    wideIds: [],
    isCut: false,
  };
}
