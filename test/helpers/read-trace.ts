import type { Problem } from '../../src/base/problem.js';
import { StringTable } from '../../src/model/string-table.js';
import { NO_I32, NO_ID, type TraceData } from '../../src/model/trace-data.js';
import { KinetoReader } from '../../src/readers/kineto/descriptor.js';
import { PlainScanner } from '../../src/readers/kineto/plain-scanner.js';
import { WasmScanner } from '../../src/readers/kineto/wasm-scanner.js';

export type ScannerName = 'wasm' | 'js';

/** Reads a whole document, cut into chunks of the given sizes (the last one repeats). */
export function readTrace(
  bytes: Uint8Array | string,
  chunkSizes: readonly number[] = [1 << 20],
  scanner: ScannerName = 'wasm',
): { trace: TraceData; problems: readonly Problem[] } {
  const data = typeof bytes === 'string' ? Buffer.from(bytes) : bytes;
  const reader = new KinetoReader({}, scanner === 'wasm' ? WasmScanner.create()! : new PlainScanner());
  for (let at = 0, i = 0; at < data.length; i++) {
    const size = Math.max(1, chunkSizes[Math.min(i, chunkSizes.length - 1)]!);
    reader.push(data.subarray(at, at + size));
    at += size;
  }
  const result = reader.finish();
  return result;
}

const SIDE = [
  ...([
    'gpu',
    'copies',
    'ops',
    'shapes',
    'python',
    'collectives',
    'syncs',
    'memory',
    'metadata',
    'flows',
  ] as const),
];
const TEXT_COLUMNS = new Set([
  ...['grid', 'block', 'dims', 'types', 'kind', 'name', 'labels', 'collective', 'dtype', 'groupName'],
  ...['groupDescription', 'groupRanks', 'commsId', 'isAsync', 'inSplit', 'outSplit'],
]);

/** Every row as plain values, with ids turned into text: two traces are the same when these are. */
export function dumpTrace(trace: TraceData): unknown[] {
  const strings = new StringTable(trace.strings);
  const side = new Map<number, Record<string, unknown>>();
  for (const table of SIDE) {
    const columns = trace[table] as unknown as Record<string, ArrayLike<number>>;
    for (let i = 0; i < columns.row!.length; i++) {
      const entry: Record<string, unknown> = {};
      for (const [name, values] of Object.entries(columns)) {
        const v = values[i]!;
        if (name === 'row' || v === NO_ID || v === NO_I32 || Number.isNaN(v) || isNarrowNone(values, v))
          continue;
        if (table === 'flows' && name === 'kind') entry.kind = kindText(trace, v);
        else if (!TEXT_COLUMNS.has(name)) entry[name] = v;
        else if (v !== 0) entry[name] = rawText(strings, v);
      }
      const row = columns.row![i]!;
      side.set(row, { ...side.get(row), [`${table}${side.get(row)?.[table] ? `#${i}` : ''}`]: entry });
    }
  }
  return Array.from({ length: trace.rows }, (_, row) => ({
    kind: kindText(trace, trace.kind[row]!),
    name: rawText(strings, trace.name[row]!),
    track: [trace.tracks[trace.track[row]!]?.pid, trace.tracks[trace.track[row]!]?.tid],
    ns: Number.isNaN(trace.ts[row]!) ? null : (trace.baseNs + BigInt(trace.ts[row]!)).toString(),
    dur: trace.dur[row]!,
    external: trace.external[row]!,
    correlation: trace.correlation[row]!,
    wide: trace.wideIds.filter((w) => w.row === row).map((w) => `${w.field}=${w.text}`),
    ...side.get(row),
  }));
}

/** All ones, in the small types. */
function isNarrowNone(values: ArrayLike<number>, v: number): boolean {
  return (values instanceof Uint8Array && v === 0xff) || (values instanceof Uint16Array && v === 0xffff);
}

function kindText(trace: TraceData, kind: number): string {
  const k = trace.kinds[kind]!;
  return `${k.phase}:${k.categoryName}`;
}

function rawText(strings: StringTable, id: number): string {
  return Buffer.from(strings.raw(id)).toString('latin1');
}

/** Events by phase and category, as `X:kernel` → count. */
export function countKinds(trace: TraceData): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const k of trace.kinds) {
    const key = `${k.phase}:${k.categoryName}`;
    if (k.events > 0) counts[key] = (counts[key] ?? 0) + k.events;
  }
  return counts;
}
