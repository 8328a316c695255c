import { BY_NSYS, type DeviceInfo, RECORDER_FIELD, type TraceHeader } from '../../model/trace-data.js';
import { MAX_TEXT } from '../common/fields.js';
import type { ColumnOf } from './collect.js';
import type { Row } from './sqlite-row.js';

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
