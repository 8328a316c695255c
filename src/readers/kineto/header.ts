import type { DeviceInfo, DistributedInfo, ProcessGroup, TraceHeader } from '../../model/trace-data.js';
import { type JsonObject, parseJson } from '../common/json-object.js';

const SWITCHES = ['with_stack', 'record_shapes', 'profile_memory', 'with_flops', 'with_modules'];
const MAX_REST = 65536;

/** Turns the fields around the events, given as text, into a header. All fields stay reachable in `rest`. */
export function parseHeader(fields: ReadonlyMap<string, string>): TraceHeader {
  const value = (key: string) => parseJson(fields.get(key) ?? '');
  const rest: Record<string, string> = Object.create(null) as Record<string, string>;
  for (const [key, text] of fields) rest[key] = text.slice(0, MAX_REST);
  return {
    schemaVersion: numberOrNull(value('schemaVersion')),
    devices: listOf(value('deviceProperties')).map(device),
    distributed: distributed(value('distributedInfo')),
    // Digits as written: nanoseconds since 1970 do not fit a double.
    baseTimeNanoseconds: /^\d+$/.exec(fields.get('baseTimeNanoseconds') ?? '')?.[0] ?? null,
    displayTimeUnit: textOrNull(value('displayTimeUnit')),
    traceName: textOrNull(value('traceName')),
    run: textOrNull(objectOf(value('whyslow')).run),
    hostName: textOrNull(value('host_name') ?? value('hostname')),
    switches: SWITCHES.filter((s) => Number(value(s)) > 0 || value(s) === true),
    versions: Object.fromEntries(
      [...fields].filter(([key]) => /_version$/.test(key) && key !== 'schemaVersion'),
    ),
    rest,
  };
}

function device(raw: unknown): DeviceInfo {
  const d = objectOf(raw);
  return {
    id: numberOrNull(d.id) ?? 0,
    name: textOrNull(d.name) ?? 'unknown device',
    totalMemory: numberOrNull(d.totalGlobalMem),
    computeMajor: numberOrNull(d.computeMajor),
    computeMinor: numberOrNull(d.computeMinor),
    multiprocessors: numberOrNull(d.numSms),
    warpSize: numberOrNull(d.warpSize),
  };
}

function distributed(raw: unknown): DistributedInfo | null {
  if (typeof raw !== 'object' || raw === null) return null;
  const d = objectOf(raw);
  return {
    backend: textOrNull(d.backend),
    rank: rankOrNull(d.rank),
    worldSize: rankOrNull(d.world_size),
    ncclVersion: textOrNull(d.nccl_version),
    groups: listOf(d.pg_config).map(processGroup),
  };
}

function processGroup(raw: unknown): ProcessGroup {
  const g = objectOf(raw);
  return {
    name: String(g.pg_name ?? ''),
    description: textOrNull(g.pg_desc),
    backend: textOrNull(g.backend_config),
    size: numberOrNull(g.pg_size),
    ranks: listOf(g.ranks).filter((r): r is number => typeof r === 'number'),
  };
}

const objectOf = (v: unknown): JsonObject => (typeof v === 'object' && v !== null ? (v as JsonObject) : {});
const listOf = (v: unknown): readonly unknown[] => (Array.isArray(v) ? v : []);
const textOrNull = (v: unknown) => (typeof v === 'string' ? v : null);
const numberOrNull = (v: unknown) => (typeof v === 'number' && Number.isFinite(v) ? v : null);
/** Ranks come as numbers and, from some launchers, as text. */
function rankOrNull(v: unknown): number | null {
  const n = typeof v === 'string' && /^\d+$/.test(v) ? Number(v) : v;
  return typeof n === 'number' && Number.isInteger(n) && n >= 0 ? n : null;
}
