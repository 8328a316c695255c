import { ns } from '../../base/units.js';
import type { CacheLookups, Compilation, CompileLog, CompileSpan } from '../../model/compile-log.js';
import {
  breakPlace,
  breakReason,
  COMPILATION,
  type CompileFaults,
  CompileTotals,
} from '../common/compile/totals.js';
import { MAX_TEXT } from '../common/fields.js';
import { asObject, type JsonObject, parseJson } from '../common/json-object.js';
import { clipped } from '../common/text.js';
import { CLOCK_LINES, CompileClock, clockEvent, isTime } from './compile-clock.js';
import type { RecordSink, TorchRecord } from './records.js';

const MAX_COMPILATIONS = 10_000;
const MAX_REASONS = 64;
const MAX_COLLECTIVES = 4096;
const MAX_STRINGS = 1 << 16;
/** Characters of reasons and names of collectives, and spans, of all compilations together. */
const MAX_KEPT = 16 << 20;
const MAX_SPANS = 1_000_000;
/** Of torch's ids of compilations. */
const MAX_ID = 64;

interface Place {
  readonly name: string;
  readonly file: string;
  readonly line: number;
}

/** A version of a function while its records come. */
interface Pending {
  readonly frame: string;
  /** The line in the log that it begins at. */
  readonly at: number;
  place: Place | null;
  /** Its metrics were logged. Only its backward pass may follow. */
  isDone: boolean;
  readonly spans: CompileSpan[];
  /** The time in its metrics, for versions of torch that log no clock events. */
  span: CompileSpan | null;
  readonly cache: { -readonly [K in keyof CacheLookups]: CacheLookups[K] };
  failure: string | null;
  limit: { readonly setting: string; readonly value: number } | null;
  collectives: readonly string[] | null;
  /** Why the versions that were there did not fit. */
  reasons: readonly string[];
}

/** Follows the compilations of one process. */
export class Compilations implements RecordSink {
  readonly #faults: CompileFaults;
  readonly #totals: CompileTotals;
  readonly #clock = new CompileClock<Pending>();
  /** By torch's id, the newest: ids come again after torch._dynamo.reset(). */
  readonly #newest = new Map<string, Pending>();
  readonly #all: Pending[] = [];
  readonly #strings = new Map<number, string>();
  #rank: number | null = null;
  #kept = 0;
  #spans = 0;

  constructor(faults: CompileFaults) {
    this.#faults = faults;
    this.#totals = new CompileTotals(faults);
  }

  wants(of: string): RegExp | 'all' | null {
    return Object.hasOwn(WANTED, of) ? WANTED[of]! : null;
  }

  badRecord(line: number): void {
    this.#faults.add('bad-record', line);
  }

  longLine(line: number): void {
    this.#faults.add('long-line', line);
  }

  record({ kind, header, payload, line }: TorchRecord): void {
    this.#rank ??= whole(header.rank);
    if (kind === 'str') this.#intern(header.str);
    else if (kind === 'chromium_event') this.#time(header, payload, line);
    else if (kind === 'artifact') this.#artifact(header, payload, line);
    else if (kind === 'dynamo_start') this.#started(header, line);
    else this.#finished(header, line);
  }

  finish(): CompileLog {
    const open = this.#clock.finish();
    if (open) open.owner.spans.push(open.span);
    const places = new Map(this.#all.flatMap((one) => (one.place ? [[one.frame, one.place] as const] : [])));
    for (const one of this.#all) {
      // Where the limit of recompiles ends it, its metrics name no function.
      one.place ??= places.get(one.frame) ?? null;
      this.#count(one);
    }
    const { first, last } = this.#clock;
    const compilations = this.#all.map(compilationOf).sort((a, b) => startOf(a) - startOf(b));
    return {
      ...this.#totals.finish(),
      times: first === null || last === null ? null : { rank: this.#rank, first, last, compilations },
    };
  }

  #started(header: JsonObject, line: number): void {
    const one = this.#begun(header, line);
    if (one) one.place ??= this.#lastOfStack(asObject(header.dynamo_start)?.stack);
  }

  #finished(header: JsonObject, line: number): void {
    const one = this.#begun(header, line);
    const metrics = asObject(header.compilation_metrics);
    if (!one || !metrics) return;
    const [name, file] = [text(metrics.co_name), text(metrics.co_filename)];
    if (name && file) one.place = { name, file, line: whole(metrics.co_firstlineno) ?? 0 };
    one.isDone = true;
    one.failure = text(metrics.fail_type);
    one.limit = limitIn(metrics.fail_reason);
    if (one.reasons.length === 0)
      one.reasons = this.#affordable(reasonsIn(text(metrics.recompile_reason) ?? ''), line);
    const [start, took] = [
      Number(metrics.start_time) * 1e9,
      Number(metrics.entire_frame_compile_time_s) * 1e9,
    ];
    if (!isTime(start) || !isTime(start + took)) return;
    one.span = { start: ns(start), end: ns(start + took) };
    this.#clock.seen(one.span.start);
    this.#clock.seen(one.span.end);
  }

  #time(header: JsonObject, payload: readonly string[], line: number): void {
    const event = clockEvent(payload);
    if (!event) return;
    // Backward passes are compiled long after their forward pass, under its id.
    const later = /backward|bw_compiler/.test(event.name);
    const closed = this.#clock.take(event, () => (later ? this.#known(header) : this.#begun(header, line)));
    if (closed && this.#spans++ < MAX_SPANS) closed.owner.spans.push(closed.span);
  }

  #artifact(header: JsonObject, payload: readonly string[], line: number): void {
    const name = text(asObject(header.artifact)?.name) ?? '';
    const one = this.#known(header);
    if (name === 'dynamo_graph_break_reason') this.#broke(payload, line);
    else if (!one) return;
    else if (name === 'recompile_reasons')
      one.reasons = this.#affordable(reasonsIn(payload.join('\n')), line);
    else if (name === 'inductor_collective_schedule')
      one.collectives = this.#affordable(collectivesIn(payload), line);
    else if (name === 'fx_graph_cache_hit') one.cache.hits++;
    else if (name === 'fx_graph_cache_miss') one.cache.misses++;
    else if (name.endsWith('_cache_bypass')) {
      one.cache.bypasses++;
      one.cache.bypassReason ??= text(asObject(parseJson(payload.join('\n')))?.cache_bypass_reason);
    }
  }

  /** The texts, unless the log has more of them than are kept. */
  #affordable<T extends readonly string[] | null>(texts: T, line: number): T | [] {
    for (const one of texts ?? []) this.#kept += one.length + 16;
    if (this.#kept <= MAX_KEPT) return texts;
    this.#faults.add('too-many-compilations', line);
    return [];
  }

  #broke(payload: readonly string[], line: number): void {
    const place = payload.map(breakPlace).find((at) => at !== null);
    const added = place && this.#totals.brokeAt(null, place.file, place.line, line);
    if (added) added.reason ||= payload.map(breakReason).find((reason) => reason !== null) ?? '';
  }

  /** Recompiles, limits and guards, once all is known about the version. */
  #count(one: Pending): void {
    const { place } = one;
    if (!place || one.reasons.length === 0) return;
    const { name, file, line } = place;
    const of = one.limit
      ? this.#totals.limited(null, name, file, line, one.limit, one.at)
      : this.#totals.recompiled(null, name, file, line, one.at);
    if (of) for (const reason of one.reasons) this.#totals.guardFailed(of, reason, one.at);
  }

  #known(header: JsonObject): Pending | null {
    return this.#newest.get(idOf(header)) ?? null;
  }

  /** The version that is being compiled under this id. Null: the record belongs to none, or there are too many. */
  #begun(header: JsonObject, line: number): Pending | null {
    const known = this.#known(header);
    if (known && !known.isDone) return known;
    if (whole(header.frame_id) === null) return null;
    if (this.#all.length === MAX_COMPILATIONS) {
      this.#faults.add('too-many-compilations', line);
      return null;
    }
    const added = newPending(`${idText(header.compiled_autograd_id)}/${header.frame_id}`, line);
    this.#newest.set(idOf(header), added);
    this.#all.push(added);
    return added;
  }

  #intern(pair: unknown): void {
    if (!Array.isArray(pair) || typeof pair[0] !== 'string' || this.#strings.size === MAX_STRINGS) return;
    this.#strings.set(Number(pair[1]), clipped(pair[0], MAX_TEXT));
  }

  /** Where the function is, for one whose metrics never came: the job was killed while it compiled. */
  #lastOfStack(stack: unknown): Place | null {
    const last = Array.isArray(stack) ? asObject(stack.at(-1)) : null;
    const name = text(last?.name);
    const file = this.#strings.get(Number(last?.filename));
    return name && file ? { name, file, line: whole(last?.line) ?? 0 } : null;
  }
}

/** Artifacts and events whose payload is read. */
const WANTED: Readonly<Record<string, RegExp | 'all'>> = {
  chromium_event: CLOCK_LINES,
  recompile_reasons: 'all',
  dynamo_graph_break_reason: /^(?:Graph break in user code|(?:Graph Break )?Reason:)/,
  inductor_collective_schedule: 'all',
  aotautograd_cache_bypass: 'all',
  fx_graph_cache_bypass: 'all',
};

const newPending = (frame: string, at: number): Pending => ({
  frame,
  at,
  place: null,
  isDone: false,
  spans: [],
  span: null,
  cache: { hits: 0, misses: 0, bypasses: 0, bypassReason: null },
  failure: null,
  limit: null,
  collectives: null,
  reasons: [],
});

function compilationOf({ place, spans, span, cache, failure, collectives }: Pending): Compilation {
  return {
    ...(place ?? { name: '', file: '', line: 0 }),
    spans: spans.length === 0 && span ? [span] : spans,
    cache,
    failure,
    collectives,
  };
}

const startOf = ({ spans }: Compilation): number => spans[0]?.start ?? 0;

const idText = (id: unknown): string =>
  typeof id === 'number' || typeof id === 'string' ? clipped(`${id}`, MAX_ID) : '';
const idOf = (h: JsonObject): string =>
  [h.compiled_autograd_id, h.frame_id, h.frame_compile_id].map(idText).join('/');

const text = (value: unknown): string | null =>
  typeof value === 'string' && value !== '' ? clipped(value, MAX_TEXT) : null;

const whole = (value: unknown): number | null =>
  Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : null;

/** One guard per line, or a JSON list of them. */
function reasonsIn(logged: string): readonly string[] {
  const list = parseJson(logged);
  const lines = Array.isArray(list) ? list.filter((l) => typeof l === 'string') : logged.split('\n');
  return lines
    .map((line) => clipped(line.trim().replace(COMPILATION, ''), 2 * MAX_TEXT))
    .filter((line) => line !== '')
    .slice(0, MAX_REASONS);
}

function collectivesIn(payload: readonly string[]): readonly string[] | null {
  const list = parseJson(payload.join('\n'));
  if (!Array.isArray(list)) return null;
  return list
    .slice(0, MAX_COLLECTIVES)
    .map((name) => (typeof name === 'string' ? clipped(name, MAX_TEXT) : '?'));
}

/** `… exceeding the recompile_limit cache size limit (currently set to 8)`. */
function limitIn(reason: unknown): Pending['limit'] {
  const match =
    /\b((?:accumulated_)?(?:recompile|cache_size)_limit)\b[^(]{0,60}\(currently set to (\d{1,9})\)/.exec(
      typeof reason === 'string' ? reason.slice(0, 4096) : '',
    );
  return match && { setting: match[1]!, value: Number(match[2]) };
}
