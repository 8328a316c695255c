import { BY_NSYS, type DeviceInfo, RECORDER_FIELD, type TraceHeader } from '../../model/trace-data.js';
import { MAX_TEXT } from '../common/fields.js';
import type { ColumnOf } from './collect.js';
import { type PageFile, type ScanFaults, scanTable } from './sqlite-pages.js';
import { ROWID, type Row } from './sqlite-row.js';

/** Visits all rows of a table, if the file has it. */
export type ScanByName = (
  table: string,
  visitor: (columnOf: ColumnOf) => (row: Row) => void,
) => Promise<void>;

export const EMPTY_HEADER: TraceHeader = {
  schemaVersion: null,
  devices: [],
  distributed: null,
  baseTimeNanoseconds: null,
  displayTimeUnit: null,
  traceName: null,
  run: null,
  hostName: null,
  switches: [],
  versions: {},
  rest: {},
};

const MAX_DEVICES = 1024;

/** What the small tables of an export say about the recording. */
export async function readHeader(scan: ScanByName): Promise<{ header: TraceHeader; baseNs: bigint }> {
  const devices = await readDevices(scan);
  const versions: Record<string, string> = {};
  let hostName: string | null = null;
  let baseNs = 0n;
  await scan('TARGET_INFO_SYSTEM_ENV', (columnOf) => (row) => {
    if (row.text(columnOf('name'), MAX_TEXT) === 'Hostname')
      hostName ??= row.text(columnOf('value'), MAX_TEXT);
  });
  await scan('META_DATA_EXPORT', (columnOf) => (row) => {
    if (row.text(columnOf('name'), MAX_TEXT) === 'EXPORT_SCHEMA_VERSION')
      versions.nsys_schema_version = row.text(columnOf('value'), MAX_TEXT) ?? '';
  });
  await scan('TARGET_INFO_SESSION_START_TIME', (columnOf) => (row) => {
    baseNs = row.integer(columnOf('utcEpochNs')) ?? baseNs;
  });
  return {
    header: { ...EMPTY_HEADER, devices, hostName, versions, rest: { [RECORDER_FIELD]: BY_NSYS } },
    baseNs,
  };
}

async function readDevices(scan: ScanByName): Promise<readonly DeviceInfo[]> {
  const devices: DeviceInfo[] = [];
  await scan('TARGET_INFO_GPU', (columnOf) => {
    const count = (row: Row, column: string) => {
      const value = row.number(columnOf(column));
      return Number.isSafeInteger(value) && value >= 0 ? value : null;
    };
    return (row) => {
      if (devices.length === MAX_DEVICES) return;
      devices.push({
        // Events name the device as CUDA numbers it.
        id: count(row, 'cuDevice') ?? count(row, 'id') ?? devices.length,
        name: row.text(columnOf('name'), MAX_TEXT) ?? 'unknown device',
        totalMemory: count(row, 'totalMemory'),
        computeMajor: count(row, 'computeMajor'),
        computeMinor: count(row, 'computeMinor'),
        multiprocessors: count(row, 'smCount'),
        warpSize: count(row, 'threadsPerWarp'),
      });
    };
  });
  return devices;
}

/** A table: where it begins and which columns it has. */
export interface Table {
  readonly root: number;
  /** Number of each column in a record; ROWID for the rowid under another name. */
  readonly columns: ReadonlyMap<string, number>;
}

/** nsys has about a hundred. */
const MAX_TABLES = 4096;
const MAX_SQL = 1 << 16;
const MAX_NAME = 256;

/** The tables of a database by name. */
export async function readSchema(file: PageFile, faults: ScanFaults): Promise<ReadonlyMap<string, Table>> {
  const tables = new Map<string, Table>();
  await scanTable(file, 1, faults, (row: Row) => {
    // type, name, tbl_name, rootpage, sql
    if (row.text(0, 16) !== 'table' || tables.size === MAX_TABLES) return;
    const name = row.text(1, MAX_NAME);
    const sql = row.text(4, MAX_SQL);
    const root = row.number(3);
    // Tables without rowid are trees of another kind, which nsys does not use.
    if (name === null || sql === null || /\)\s*WITHOUT\s+ROWID\s*;?\s*$/i.test(sql)) return;
    tables.set(name, { root, columns: columnsOf(sql) });
  });
  return tables;
}

const CONSTRAINT = /^(?:PRIMARY|UNIQUE|CHECK|FOREIGN|CONSTRAINT)\b/i;

/** Column numbers from a CREATE TABLE statement. */
export function columnsOf(sql: string): ReadonlyMap<string, number> {
  const plain = sql.replace(/--[^\n]*(?:\n|$)|\/\*[\s\S]*?\*\//g, ' ');
  const columns = new Map<string, number>();
  for (const definition of splitDefinitions(plain.slice(plain.indexOf('(') + 1))) {
    const text = definition.trim();
    if (text === '' || CONSTRAINT.test(text)) continue;
    const name = /^(?:"([^"]*)"|\[([^\]]*)\]|`([^`]*)`|(\S+))/.exec(text);
    const isRowid = /^\S+\s+INTEGER\b.*\bPRIMARY\s+KEY\b(?!\s+DESC)/is.test(text);
    const key = name?.slice(1).find((n) => n !== undefined);
    // Such a column has its place in the record all the same, where it is always null.
    if (key !== undefined && !columns.has(key)) columns.set(key, isRowid ? ROWID : columns.size);
  }
  return columns;
}

/** At the commas outside parentheses, up to the one that closes the list. */
function splitDefinitions(text: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let from = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (c === '(') depth++;
    else if (c === ')' && --depth < 0) {
      parts.push(text.slice(from, i));
      return parts;
    } else if (c === ',' && depth === 0) {
      parts.push(text.slice(from, i));
      from = i + 1;
    }
  }
  parts.push(text.slice(from));
  return parts;
}
