import { withoutSecrets } from '../../base/secrets.js';
import type { EventLogHeader } from '../../model/event-log.js';
import { asObject, type JsonObject } from '../common/json-object.js';
import { clipped } from '../common/text.js';
import type { EventFaults } from './faults.js';

const MAX_TEXT_LENGTH = 4096;
const MAX_HEADER_LENGTH = 1 << 16;
const MAX_HEADER_DEPTH = 32;
const FORMAT_VERSION = 1;

/** Values of `EventLogRun.clock`. */
const CLOCK_UNKNOWN = 0;
const CLOCK_GPU = 1;
const CLOCK_HOST = 2;

/** Values of `EventLogRun.profiler`. */
const PROFILERS: ReadonlyMap<unknown, number> = new Map([
  ['attached', 1],
  ['recording', 2],
]);

/** One checked record. Sentinels as in `EventLogRun`. One object is reused for all lines. */
export interface EventRecord {
  name: string;
  step: number;
  rank: number;
  durationMs: number;
  startMs: number;
  micro: number;
  clock: number;
  hostMs: number;
  lagMs: number;
  profiler: number;
  run: string | null;
  /** Time outside steps by phase, ms. Empty: none is known. */
  outside: readonly (readonly [name: string, ms: number])[];
}

export function emptyRecord(): EventRecord {
  const times = { durationMs: NaN, startMs: NaN, hostMs: NaN, lagMs: NaN };
  return {
    name: '',
    step: 0,
    rank: -1,
    micro: -1,
    clock: CLOCK_UNKNOWN,
    profiler: 0,
    run: null,
    outside: [],
    ...times,
  };
}

/** Checks the fields of a record. False: it has no usable name or step and must be left out. */
export function fillRecord(out: EventRecord, json: JsonObject, faults: EventFaults, line: number): boolean {
  const { name, step, rank, duration_ms: duration } = json;
  if (isAbsent(name) || isAbsent(step)) {
    faults.add('missing-field', line);
    return false;
  }
  const stepNumber = toNumber(step);
  if (typeof name !== 'string' || !Number.isSafeInteger(stepNumber)) {
    faults.add('wrong-type', line);
    return false;
  }
  if (isAbsent(rank) || isAbsent(duration)) faults.add('missing-field', line);
  out.name = clip(name, faults, line);
  out.step = stepNumber;
  out.rank = toCount(rank, faults, line);
  out.durationMs = toMs(duration, faults, line);
  out.startMs = toMs(json.start_ms, faults, line);
  // lmms-engine calls it micro_step.
  out.micro = toCount(json.micro ?? json.micro_step, faults, line);
  out.clock = toClock(json.clock, faults, line);
  out.hostMs = toMs(json.host_ms, faults, line);
  out.lagMs = toMs(json.lag_ms, faults, line);
  out.profiler = toProfiler(json.profiler, faults, line);
  out.run = toRun(json.run, faults, line);
  out.outside = toOutside(json.outside_ms, faults, line);
  if (out.durationMs < 0) faults.add('negative-duration', line);
  return true;
}

export function toHeader(
  json: JsonObject,
  length: number,
  faults: EventFaults,
  line: number,
): EventLogHeader {
  const version = toNumber(json.whyslow);
  if (version > FORMAT_VERSION) faults.add('newer-version', line);
  const fits = length <= MAX_HEADER_LENGTH && isShallow(json, MAX_HEADER_DEPTH);
  if (!fits) faults.add('oversized-header', line);
  const known = (count: number) => (count < 0 ? null : count);
  return {
    version: Number.isFinite(version) ? version : 0,
    run: toRun(json.run, faults, line),
    rank: known(toCount(json.rank, faults, line)),
    worldSize: known(toCount(json.world_size, faults, line)),
    startedNs: startOf(fits ? json.anchors : null),
    command: fits && typeof json.command === 'string' ? withoutSecrets(json.command) : null,
    denseSteps: Math.max(0, toCount(json.dense_steps, faults, line)),
    fields: fits ? json : {},
  };
}

function startOf(anchors: unknown): number | null {
  const first = asObject(Array.isArray(anchors) ? anchors[0] : null);
  const wall = toNumber(first?.wall_ns);
  return Number.isFinite(wall) ? wall : null;
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null;
}

const DECIMAL = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
const NON_FINITE = /^[+-]?(nan|inf|infinity)$/i;

/** A number, also one written as text; Infinity for any non-finite text; NaN where it is not a number at all. */
function toNumber(value: unknown): number {
  if (typeof value === 'number') return value;
  if (typeof value !== 'string' || value.length > 64) return NaN;
  const text = value.trim();
  if (DECIMAL.test(text)) return Number(text);
  return NON_FINITE.test(text) ? Infinity : NaN;
}

function toMs(value: unknown, faults: EventFaults, line: number): number {
  if (isAbsent(value)) return NaN;
  const ms = toNumber(value);
  if (Number.isFinite(ms)) return ms;
  faults.add(Number.isNaN(ms) ? 'wrong-type' : 'non-finite', line);
  return NaN;
}

/** A rank or micro-step; −1 where unknown. Launchers also write −1 for "not distributed". */
function toCount(value: unknown, faults: EventFaults, line: number): number {
  if (isAbsent(value)) return -1;
  const count = toNumber(value);
  if (count >= -1 && (count | 0) === count) return count;
  faults.add('wrong-type', line);
  return -1;
}

function toClock(value: unknown, faults: EventFaults, line: number): number {
  if (value === 'gpu') return CLOCK_GPU;
  if (value === 'host') return CLOCK_HOST;
  if (!isAbsent(value)) faults.add('wrong-type', line);
  return CLOCK_UNKNOWN;
}

function toProfiler(value: unknown, faults: EventFaults, line: number): number {
  if (isAbsent(value)) return 0;
  const known = PROFILERS.get(value);
  if (known === undefined) faults.add('wrong-type', line);
  return known ?? 0;
}

const NO_OUTSIDE: EventRecord['outside'] = [];
/** whyslow_capture knows fewer phases. */
const MAX_OUTSIDE = 32;

function toOutside(value: unknown, faults: EventFaults, line: number): EventRecord['outside'] {
  if (isAbsent(value)) return NO_OUTSIDE;
  const object = asObject(value);
  if (!object) faults.add('wrong-type', line);
  return Object.entries(object ?? {})
    .slice(0, MAX_OUTSIDE)
    .map(([name, ms]) => [clip(name, faults, line), toMs(ms, faults, line)] as const)
    .filter(([, ms]) => ms >= 0);
}

function toRun(value: unknown, faults: EventFaults, line: number): string | null {
  if (isAbsent(value)) return null;
  if (typeof value === 'string') return clip(value, faults, line);
  if (Number.isFinite(value)) return String(value);
  faults.add('wrong-type', line);
  return null;
}

function clip(text: string, faults: EventFaults, line: number): string {
  if (text.length <= MAX_TEXT_LENGTH) return text;
  faults.add('long-name', line);
  return clipped(text, MAX_TEXT_LENGTH);
}

/** Cloning or printing deeper values would overflow the stack. */
function isShallow(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return levels > 0 && Object.values(value).every((inner) => isShallow(inner, levels - 1));
}
