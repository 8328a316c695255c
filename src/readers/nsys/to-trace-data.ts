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

/** The collected rows as the columns of the model. */
export function toTraceData(
  { rows, tracks, gpu, graphs, copies }: Events,
  strings: NsysStrings,
  header: TraceHeader,
  baseNs: bigint,
): TraceData {
  const ids = (tokens: Uint32Array): StringIds => (strings.size > 0xffff ? tokens : new Uint16Array(tokens));
  const { dur, kind } = rows;
  return {
    rows: rows.ts.length,
    ts: rows.ts,
    dur: dur.every((d) => d < 2 ** 32) ? new Uint32Array(dur) : dur,
    name: ids(rows.name),
    external: new Uint32Array(rows.ts.length).fill(NO_ID),
    correlation: rows.correlation,
    track: rows.track,
    kind,
    // Events cannot be read again from their position.
    offsets: new Float64Array(0),
    kinds: kindsOf(kind),
    tracks,
    strings: strings.finish(),
    baseNs,
    header,
    gpu: {
      ...gpu,
      grid: ids(gpu.grid),
      block: ids(gpu.block),
      occupancy: new Float32Array(gpu.row.length).fill(Number.NaN),
    },
    graphs,
    // Bytes per nanosecond are GB/s.
    copies: { ...copies, bandwidth: copies.bytes.map((b, i) => b / (dur[copies.row[i]!]! || Number.NaN)) },
    ...withoutTorch(),
  };
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
    samples: { row, value: f64 },
    flows: { row, id: row, kind: new Uint8Array(0) },
    wideIds: [],
    isCut: false,
  };
}
