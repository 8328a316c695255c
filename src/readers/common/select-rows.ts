import type { NumericArray } from '../../base/columns.js';
import type { SideTable, TraceData, TrackInfo } from '../../model/trace-data.js';

/** What a part of a trace has instead of the whole trace's. */
interface Instead {
  readonly tracks?: readonly TrackInfo[];
  readonly header?: TraceData['header'];
}

/** A trace of some of the rows. Events cannot be read again from their position: the file has more than these. */
export function selectRows(trace: TraceData, isKept: (row: number) => boolean, instead: Instead): TraceData {
  const kept = indicesWhere(trace.rows, isKept);
  const newRow = new Int32Array(trace.rows).fill(-1);
  for (let i = 0; i < kept.length; i++) newRow[kept[i]!] = i;
  const side = <T extends SideTable>(table: T): T => {
    const at = indicesWhere(table.row.length, (i) => newRow[table.row[i]!]! >= 0);
    const columns = Object.entries(table) as [string, NumericArray][];
    const picked = columns.map(([name, column]) => [name, pick(column, at)] as const);
    const row = Uint32Array.from(at, (i) => newRow[table.row[i]!]!);
    return { ...Object.fromEntries(picked), row } as unknown as T;
  };
  const kind = pick(trace.kind, kept);
  const events = new Float64Array(trace.kinds.length);
  for (let i = 0; i < kind.length; i++) events[kind[i]!]!++;
  return {
    rows: kept.length,
    ts: pick(trace.ts, kept),
    dur: pick(trace.dur, kept),
    name: pick(trace.name, kept),
    external: pick(trace.external, kept),
    correlation: pick(trace.correlation, kept),
    track: pick(trace.track, kept),
    kind,
    offsets: new Float64Array(0),
    kinds: trace.kinds.map((k, i) => ({ ...k, events: events[i]!, folded: 0 })),
    tracks: instead.tracks ?? trace.tracks,
    strings: trace.strings,
    baseNs: trace.baseNs,
    header: instead.header ?? trace.header,
    isCut: trace.isCut,
    gpu: side(trace.gpu),
    graphs: side(trace.graphs),
    copies: side(trace.copies),
    ops: side(trace.ops),
    shapes: side(trace.shapes),
    python: side(trace.python),
    collectives: side(trace.collectives),
    syncs: side(trace.syncs),
    memory: side(trace.memory),
    metadata: side(trace.metadata),
    samples: side(trace.samples),
    flows: side(trace.flows),
    wideIds: trace.wideIds.flatMap((w) => (newRow[w.row]! >= 0 ? [{ ...w, row: newRow[w.row]! }] : [])),
  };
}

function indicesWhere(length: number, test: (i: number) => boolean): Uint32Array {
  const found = new Uint32Array(length);
  let count = 0;
  for (let i = 0; i < length; i++) if (test(i)) found[count++] = i;
  return found.slice(0, count);
}

function pick<T extends NumericArray>(from: T, at: Uint32Array): T {
  const picked = new (from.constructor as new (length: number) => T)(at.length);
  for (let i = 0; i < at.length; i++) picked[i] = from[at[i]!]!;
  return picked;
}
