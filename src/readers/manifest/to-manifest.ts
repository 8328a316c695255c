import type { ProblemLog } from '../../base/problem.js';
import { commandWithoutSecrets } from '../../base/secrets.js';
import type {
  ClockAnchor,
  CpuUse,
  LoaderRecord,
  Manifest,
  MeshAxis,
  ProcessCores,
  RankManifest,
  RecordedWindow,
  RunManifest,
  SmallCollectives,
  StackSamples,
} from '../../model/manifest.js';
import { type GpuIdentity, pciKey, pciKeyOf, uuidKey } from '../../model/telemetry.js';
import { Fields, MAX_ENTRIES } from '../common/fields.js';
import type { JsonObject } from '../common/json-object.js';

const FORMAT_VERSION = 1;
/** Most axes of a mesh. torch's own limit is 8. */
const MAX_AXES = 16;

export function toManifest(object: JsonObject, problems: ProblemLog): Manifest {
  const fields = new Fields(object, problems, 'a manifest');
  if ((fields.number('whyslow') ?? 0) > FORMAT_VERSION) {
    problems.add('newer-version', {
      message: 'A manifest has a format version newer than 1.',
      consequence: 'Fields that this version does not know are ignored.',
    });
  }
  const isRank = ['host', 'pid', 'local_rank', 'rank'].some((key) => Object.hasOwn(object, key));
  return isRank ? toRank(fields) : toRun(fields);
}

function toRun(fields: Fields): RunManifest {
  return {
    of: 'run',
    run: fields.text('run'),
    worldSize: fields.count('world_size') || null,
    mesh: toMesh(fields.inside('mesh')),
    startedNs: fields.number('started_ns'),
    versions: fields.inside('versions')?.table((f, key) => f.text(key)) ?? {},
    launch: toLaunch(fields.list('launch')),
    command: commandWithoutSecrets(textsOf(fields.list('command') ?? []).slice(0, MAX_ENTRIES)),
  };
}

/** In characters; capture writes no longer ones. */
const MAX_LAUNCH = 1000;

function toLaunch(words: readonly unknown[] | null): readonly string[] | null {
  const texts = textsOf(words ?? []);
  const isWhole = texts.length === words?.length && texts.join('').length <= MAX_LAUNCH;
  return isWhole && texts.length > 0 ? commandWithoutSecrets(texts) : null;
}

const textsOf = (words: readonly unknown[]): readonly string[] =>
  words.filter((word) => typeof word === 'string');

/** Null if names and sizes do not match: half a mesh is useless. */
function toMesh(mesh: Fields | null): readonly MeshAxis[] | null {
  if (!mesh) return null;
  const names = mesh.list('axes') ?? [];
  const sizes = mesh.list('sizes') ?? [];
  const axes = names.flatMap((name, i) => {
    const size = sizes[i];
    const fits = typeof name === 'string' && name.length <= 64 && Number.isSafeInteger(size);
    return fits && (size as number) > 0 ? [{ name, size: size as number }] : [];
  });
  const distinct = new Set(axes.map((a) => a.name)).size === axes.length;
  if (axes.length === names.length && axes.length === sizes.length && axes.length <= MAX_AXES && distinct) {
    return axes.length > 0 ? axes : null;
  }
  mesh.problems.add('broken-mesh', {
    message: 'The names and sizes of the mesh do not match.',
    consequence: 'The mesh counts as unknown.',
  });
  return null;
}

function toRank(fields: Fields): RankManifest {
  return {
    of: 'rank',
    run: fields.text('run'),
    rank: fields.count('rank'),
    localRank: fields.count('local_rank'),
    host: fields.text('host') || null,
    pid: fields.count('pid'),
    processStartedNs: fields.number('process_started_ns'),
    launch: toLaunch(fields.list('launch')),
    device: toDevice(fields.inside('device')),
    coordinates: toCoordinates(fields.inside('coordinates')),
    anchors: toAnchors(fields),
    dropped: fields.inside('dropped')?.table((f, key) => f.count(key)) ?? {},
    stacks: toStacks(fields.inside('stacks')),
    windows: toWindows(fields.inside('trace')),
    cores: toCores(fields.inside('cores')),
    cpu: toCpu(fields.inside('cpu')),
    loader: toLoader(fields.inside('loader')),
    steps: fields.count('steps'),
    parameters: fields.inside('parameters')?.table((f, key) => f.count(key)) ?? {},
    smallCollectives: toSmallCollectives(fields.inside('small_collectives')),
  };
}

function toWindows(trace: Fields | null): readonly RecordedWindow[] {
  if (!trace) return [];
  return trace.each((trace.list('windows') ?? []).slice(-MAX_ENTRIES)).flatMap((window) => {
    const firstStep = window.count('first_step');
    // A window without a recorded step never began.
    if (firstStep === null || window.count('last_step') === null) return [];
    return [{ firstStep, detached: window.flag('detached'), slower: toSlower(window.inside('afterwards')) }];
  });
}

function toSlower(afterwards: Fields | null): RecordedWindow['slower'] {
  const change = afterwards?.flag('slower') ? afterwards.inside('change') : null;
  const [low, high] = [change?.number('low') ?? null, change?.number('high') ?? null];
  return low === null || high === null ? null : { low, high };
}

function toStacks(stacks: Fields | null): StackSamples | null {
  const samples = stacks?.count('samples') ?? 0;
  if (!stacks || samples === 0) return null;
  const lines = stacks.each((stacks.list('lines') ?? []).slice(0, MAX_ENTRIES)).map((line) => ({
    file: line.text('file') ?? '',
    line: line.count('line') ?? 0,
    function: line.text('function') ?? '',
    source: line.text('source') ?? '',
    samples: Math.min(samples, line.count('samples') ?? 0),
    calls: Object.keys(line.inside('calls')?.table((f, key) => f.count(key)) ?? {}),
  }));
  const background = stacks.each((stacks.list('background') ?? []).slice(0, MAX_ENTRIES)).map((line) => ({
    thread: line.text('thread') ?? '',
    file: line.text('file') ?? '',
    line: line.count('line') ?? 0,
    function: line.text('function') ?? '',
    samples: Math.min(samples, line.count('samples') ?? 0),
  }));
  return { samples, lines, background };
}

function toSmallCollectives(fields: Fields | null): SmallCollectives | null {
  const steps = fields?.count('steps') ?? 0;
  if (!fields || steps === 0) return null;
  return {
    steps,
    calls: fields.count('calls') ?? 0,
    small: fields.count('small') ?? 0,
    smallMs: Math.max(0, fields.number('small_ms') ?? 0),
    short: fields.count('short') ?? 0,
    shortMs: Math.max(0, fields.number('short_ms') ?? 0),
  };
}

function toCores(fields: Fields | null): ProcessCores | null {
  const allowed = fields?.count('allowed') || null;
  if (!fields || allowed === null) return null;
  const quota = fields.number('quota');
  return {
    allowed,
    quota: quota !== null && quota > 0 ? quota : null,
    ranks: fields.count('ranks') || 1,
  };
}

const WHO_SETS = ['code', 'environment', 'default'] as const;

function toCpu(fields: Fields | null): CpuUse | null {
  const [wall, used] = [fields?.number('wall_s') ?? null, fields?.number('used_s') ?? null];
  if (!fields || wall === null || used === null || !(wall > 0) || used < 0) return null;
  const queued = fields.number('queued');
  return {
    used: used / wall,
    queued: queued === null ? null : Math.max(0, queued),
    threads: fields.count('threads') || 1,
    affinity: fields.text('affinity') || null,
    threadQueued: toShare(fields, 'thread_queued'),
    threadRan: toShare(fields, 'thread_ran'),
    threadsBy: WHO_SETS.find((who) => who === fields.text('threads_by')) ?? null,
    background: fields
      .each((fields.list('background') ?? []).slice(0, MAX_ENTRIES))
      .map((thread) => ({ thread: thread.text('thread') ?? '', ran: toShare(thread, 'ran') ?? 0 })),
    throttled: toShare(fields, 'throttled'),
  };
}

function toLoader(fields: Fields | null): LoaderRecord | null {
  if (!fields) return null;
  return {
    numWorkers: fields.count('num_workers'),
    prefetchFactor: fields.count('prefetch_factor'),
    pinMemory: fields.flag('pin_memory'),
    persistentWorkers: fields.flag('persistent_workers'),
    batchSize: fields.count('batch_size'),
    iterable: fields.flag('iterable'),
    splitByWorker: fields.flag('split_by_worker'),
    framework: fields.text('framework'),
    fetchMs: fields.number('fetch_ms'),
    fetchRan: toShare(fields, 'fetch_ran'),
    fetchQueued: toShare(fields, 'fetch_queued'),
    ready: fields.number('ready'),
    foundNone: toShare(fields, 'found_none'),
    batches: fields.count('batches'),
    starts: fields.count('starts'),
    made: fields.count('made'),
    startMs: toTime(fields, 'start_ms'),
    firstMs: toTime(fields, 'first_ms'),
    laterMs: toTime(fields, 'later_ms'),
    endMs: toTime(fields, 'end_ms'),
    workersRan: toShare(fields, 'workers_ran'),
    workersQueued: toShare(fields, 'workers_queued'),
  };
}

function toTime(fields: Fields, key: string): number | null {
  const value = fields.number(key);
  return value === null ? null : Math.max(0, value);
}

function toShare(fields: Fields, key: string): number | null {
  const value = fields.number(key);
  return value === null ? null : Math.min(1, Math.max(0, value));
}

function toCoordinates(fields: Fields | null): RankManifest['coordinates'] {
  const coordinates = fields?.table((f, key) => f.count(key)) ?? {};
  const axes = Object.keys(coordinates).length;
  return axes > 0 && axes <= MAX_AXES ? coordinates : null;
}

function toDevice(device: Fields | null): GpuIdentity | null {
  if (!device || device.text('type') === 'cpu') return null;
  return {
    index: device.count('index'),
    name: device.text('name'),
    uuid: uuidKey(device.text('uuid') ?? ''),
    pci: toPci(device),
  };
}

/** torch gives the bus as a number, with domain and device; others give one text. */
function toPci(device: Fields): string | null {
  if (typeof device.object.pci_bus_id === 'string') return pciKey(device.object.pci_bus_id);
  const bus = device.count('pci_bus_id');
  if (bus === null) return null;
  return pciKeyOf(device.count('pci_domain_id') ?? 0, bus, device.count('pci_device_id') ?? 0);
}

function toAnchors(fields: Fields): readonly ClockAnchor[] {
  const all = fields.list('anchors') ?? [];
  const half = MAX_ENTRIES / 2;
  const kept = all.length > MAX_ENTRIES ? [...all.slice(0, half), ...all.slice(-half)] : all;
  return fields.each(kept).flatMap((anchor) => {
    const wallNs = anchor.number('wall_ns');
    const monotonicNs = anchor.number('monotonic_ns');
    return wallNs === null ? [] : [{ at: anchor.text('at') ?? '', wallNs, monotonicNs }];
  });
}
