import { InputError } from '../base/input-error.js';
import type { Problem } from '../base/problem.js';
import { readFile } from '../ingest/read-file.js';
import { StringTable } from '../model/string-table.js';
import { NO_I32, NO_ID, type TraceData } from '../model/trace-data.js';
import type { JsonObject } from '../readers/common/json-object.js';
import { SIDE_TABLES } from '../readers/common/trace-rows/schema.js';
import type { RawEvent } from '../readers/kineto/raw-events.js';

/** Between two pauses. */
const ROWS = 4096;

interface ReadEvents {
  readonly fields: ReadonlyMap<string, string>;
  readonly problems: readonly Problem[];
}

/** Calls `use` with each event of a trace that is no JSON. Holds its columns. Waits for `pause` now and then. */
export async function eachModelEvent(
  file: string,
  path: string | undefined,
  use: (event: RawEvent, start: number) => void,
  pause: () => Promise<unknown>,
  onBytes: (stored: number) => void,
): Promise<ReadEvents> {
  const { members } = await readFile(
    file,
    (member) =>
      'trace' in member.content && (path === undefined || member.path === path)
        ? { trace: member.content.trace, problems: member.problems }
        : null,
    onBytes,
  );
  const found = members.find((m) => m !== null);
  if (!found) throw new InputError(`${file} has changed while it was read`);
  const events = new ModelEvents(found.trace);
  for (let row = 0; row < found.trace.rows; row++) {
    const event = events.at(row);
    if (event) use(event, found.trace.ts[row]!);
    if (row % ROWS === ROWS - 1) await pause();
  }
  const fields = new Map([['schemaVersion', '1'], ...Object.entries(found.trace.header.rest)]);
  return { fields, problems: found.problems };
}

/** A column of a side table: the argument that it is. */
interface ArgumentColumn {
  readonly name: string;
  readonly isToken: boolean;
  readonly values: ArrayLike<number>;
}
interface ArgumentTable {
  readonly row: Uint32Array;
  readonly columns: readonly ArgumentColumn[];
  next: number;
}

/** Rows as Chrome events, with the arguments that the model has. Ask for rows in their order. */
export class ModelEvents {
  readonly #data: TraceData;
  readonly #strings: StringTable;
  readonly #tables: readonly ArgumentTable[];

  constructor(data: TraceData) {
    this.#data = data;
    this.#strings = new StringTable(data.strings);
    this.#tables = SIDE_TABLES.flatMap((schema) => {
      const table = (data as unknown as Record<string, Record<string, ArrayLike<number>>>)[schema.name];
      const names = Object.entries(schema.args);
      if (!table?.row || names.length === 0) return [];
      const columns = Object.entries(schema.columns).flatMap(([column, type]) => {
        const name = names.find(([, of]) => of === column)?.[0];
        const values = table[column];
        return name && values ? [{ name, isToken: type === 'token', values }] : [];
      });
      return [{ row: table.row as Uint32Array, columns, next: 0 }];
    });
  }

  /** Null: its time is impossible, so no viewer could show it. */
  at(row: number): RawEvent | null {
    const { kinds, kind, tracks, track, name, ts, dur, external, correlation } = this.#data;
    const { phase, categoryName } = kinds[kind[row]!]!;
    const args = this.#argumentsOf(row);
    if (phase === '') return null;
    const { pid, tid } = tracks[track[row]!]!;
    if (external[row] !== NO_ID) args.push(`"External id":${external[row]}`);
    if (correlation[row] !== NO_ID) args.push(`"correlation":${correlation[row]}`);
    const parts = [
      `"ph":"${phase}"`,
      ...(categoryName === '' ? [] : [`"cat":${inUtf8(JSON.stringify(categoryName))}`]),
      `"name":${name[row] === 0 ? '""' : this.#raw(name[row]!)}`,
      `"pid":${idText(pid)}`,
      `"tid":${idText(tid)}`,
      `"ts":${Number.isNaN(ts[row]!) ? 0 : microsecondsOf(this.#data.baseNs + BigInt(ts[row]!))}`,
      ...(phase === 'X' ? [`"dur":${microsecondsOf(BigInt(dur[row]!))}`] : []),
      `"args":{${args.join(',')}}`,
    ];
    const text = `{${parts.join(',')}}`;
    return { text, value: JSON.parse(text) as JsonObject };
  }

  #argumentsOf(row: number): string[] {
    const args: string[] = [];
    for (const table of this.#tables) {
      while (table.row[table.next]! < row) table.next++;
      if (table.row[table.next] !== row) continue;
      for (const { name, isToken, values } of table.columns) {
        const value = values[table.next]!;
        if (isToken ? value !== 0 : !isNone(values, value))
          args.push(`${JSON.stringify(name)}:${isToken ? this.#raw(value) : value}`);
      }
    }
    return args;
  }

  #raw(id: number): string {
    return Buffer.from(this.#strings.raw(id)).toString('latin1');
  }
}

/** The sentinels of the model. */
function isNone(values: ArrayLike<number>, value: number): boolean {
  if (values instanceof Uint8Array) return value === 0xff;
  if (values instanceof Uint16Array) return value === 0xffff;
  return Number.isNaN(value) || value === NO_ID || value === NO_I32;
}

const inUtf8 = (text: string): string => Buffer.from(text).toString('latin1');
const idText = (id: string): string => (/^-?\d{1,15}$/.test(id) ? id : inUtf8(JSON.stringify(id)));

function microsecondsOf(ns: bigint): string {
  const sign = ns < 0n ? '-' : '';
  const size = ns < 0n ? -ns : ns;
  return `${sign}${size / 1000n}.${String(size % 1000n).padStart(3, '0')}`;
}
