import type { ProblemLog } from '../../../base/problem.js';
import type {
  DeviceInfo,
  DistributedInfo,
  ProcessGroup,
  Slimmed,
  TraceHeader,
} from '../../../model/trace-data.js';
import { Fields, MAX_TEXT } from '../fields.js';
import { type JsonObject, parseJson } from '../json-object.js';

const SWITCHES = ['with_stack', 'record_shapes', 'profile_memory', 'with_flops', 'with_modules'];
const READ = [
  'schemaVersion',
  'deviceProperties',
  'distributedInfo',
  'displayTimeUnit',
  'traceName',
  'whyslow',
  'host_name',
  'hostname',
  'whyslow_slim',
];
/** The fields that are turned into values. */
export const READ_FIELDS: ReadonlySet<string> = new Set([...READ, ...SWITCHES, 'baseTimeNanoseconds']);
const VERSION = /_version$/;

/** In a trace that `whyslow slim` made of one that was cut: its brackets are closed, and events are missing all the same. */
export const CUT_FIELD = 'whyslow_cut';

/** What `whyslow slim` left out: dropping operators hides what recording them cost. */
export const SLIM_FIELD = 'whyslow_slim';

/** No machine has more GPUs, and no process more groups: their number in a collective has 16 bits. */
const MAX_DEVICES = 1024;
const MAX_GROUPS = 0xffff;

/** Turns the fields around the events, given as text, into a header. The fields themselves stay reachable in `rest`. */
export function parseHeader(texts: ReadonlyMap<string, string>, problems: ProblemLog): TraceHeader {
  const values = READ.map((key) => [key, parseJson(texts.get(key) ?? '')] as const);
  const fields = new Fields(Object.fromEntries(values) as JsonObject, problems, 'the header');
  const rest: Record<string, string> = Object.create(null) as Record<string, string>;
  for (const [key, text] of texts) rest[key] = text.slice(0, MAX_REST);
  return {
    schemaVersion: fields.number('schemaVersion'),
    devices: listIn(fields, 'deviceProperties', MAX_DEVICES).map(device),
    distributed: distributed(fields.inside('distributedInfo')),
    // Digits as written: nanoseconds since 1970 do not fit a double. 63 bits hold 18 digits.
    baseTimeNanoseconds: /^\d{1,18}$|^[1-8]\d{18}$/.exec(texts.get('baseTimeNanoseconds') ?? '')?.[0] ?? null,
    displayTimeUnit: fields.text('displayTimeUnit'),
    traceName: fields.text('traceName'),
    run: fields.inside('whyslow')?.text('run') ?? null,
    hostName: fields.text('host_name') ?? fields.text('hostname'),
    switches: SWITCHES.filter((key) => ON.test(texts.get(key) ?? '')),
    slimmed: slimmed(fields.inside(SLIM_FIELD)),
    versions: Object.fromEntries([...texts].filter(([key, text]) => VERSION.test(key) && isVersion(text))),
    rest,
  };
}
const MAX_REST = 65536;
/** A number or a text, as written. */
const isVersion = (text: string) => text.length <= MAX_TEXT && /^(?:\d[\d.]*|".*")$/s.test(text);
/** Kineto writes 1; others a truth value, or either as text. */
const ON = /^"?(?:true|0*[1-9]\d*)"?$/i;

function listIn(fields: Fields, key: string, most: number): Fields[] {
  const all = fields.list(key) ?? [];
  const message = `${key} in the header has more than ${most} entries; counted are those beyond`;
  const text = { message, consequence: 'left out' };
  fields.problems.add('too-many-entries', text, null, all.length - most);
  return fields.each(all.slice(0, most));
}

function slimmed(d: Fields | null): Slimmed | null {
  if (!d) return null;
  const left = d.number('unprofiled');
  return {
    dropped: (d.list('dropped') ?? []).slice(0, MAX_DROPPED).filter((name) => typeof name === 'string'),
    unprofiled: left !== null && left > 0 && left <= 1 ? left : null,
  };
}
const MAX_DROPPED = 100;

function device(d: Fields): DeviceInfo {
  return {
    id: d.count('id') ?? 0,
    name: d.text('name') ?? 'unknown device',
    totalMemory: d.count('totalGlobalMem'),
    computeMajor: d.count('computeMajor'),
    computeMinor: d.count('computeMinor'),
    multiprocessors: d.count('numSms'),
    warpSize: d.count('warpSize'),
  };
}

function distributed(d: Fields | null): DistributedInfo | null {
  if (!d) return null;
  return {
    backend: d.text('backend'),
    rank: rankIn(d, 'rank'),
    worldSize: rankIn(d, 'world_size'),
    ncclVersion: d.text('nccl_version'),
    groups: listIn(d, 'pg_config', MAX_GROUPS).map(processGroup),
  };
}

/** Ranks in event logs have 31 bits too. */
function rankIn(fields: Fields, key: string): number | null {
  const rank = fields.countOrText(key);
  return rank === null || rank < 2 ** 31 ? rank : fields.wrong();
}

function processGroup(g: Fields): ProcessGroup {
  return {
    name: g.text('pg_name') ?? '',
    description: g.text('pg_desc'),
    backend: g.text('backend_config'),
    size: g.count('pg_size'),
    ranks: g.counts('ranks'),
  };
}
