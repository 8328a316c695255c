import { InputError } from '../base/input-error.js';
import { type Problem, ProblemLog } from '../base/problem.js';
import { lowerBound } from '../base/search.js';
import { bytes, formatBytes } from '../base/units.js';
import type { StepRange } from '../facts/step-facts.js';
import { readFile } from '../ingest/read-file.js';
import type { Read } from '../ingest/read-member.js';
import { categoryOf, isGpuWork } from '../model/category.js';
import { Trace } from '../model/trace.js';
import { CUT_FIELD, SLIM_FIELD } from '../readers/common/trace-rows/header.js';
import { type RawEvent, RawEventReader } from '../readers/kineto/raw-events.js';
import { visitMembers } from '../sources/open.js';
import { ChromeFile } from './chrome-file.js';
import { durationNs, microseconds, placesOf, timeToken, withValues, wordOf } from './event-text.js';
import { EventKeeper, type KeptPart } from './keep-events.js';
import { eachModelEvent } from './model-events.js';
import { sliceKey, TrackIds } from './overlaps.js';
import { isRewritable, noteUnknown, partOf, planSlim, type SlimPlan } from './slim-plan.js';

export interface SlimOptions {
  readonly out: string;
  readonly force: boolean;
  readonly steps: StepRange | null;
  /** Categories to leave out, as the file names them. */
  readonly drop: readonly string[];
  /** Most bytes of JSON, before packing. Null: no limit. */
  readonly max: number | null;
  /** Called while reading, with the stored bytes read so far. The file is read two or three times. */
  readonly onBytes?: (stored: number) => void;
}

export interface Slimmed {
  /** Events of the input that were kept. New tracks add their names to the file. */
  readonly events: number;
  /** Events of the input. */
  readonly of: number;
  /** Bytes of JSON, before packing. */
  readonly bytes: number;
  /** Numbers of the first and last step; null: all of the trace. */
  readonly steps: readonly [first: number, last: number] | null;
  readonly dropped: readonly string[];
  readonly problems: readonly Problem[];
}

/** Writes a part of a trace. Holds what a diagnosis holds of it. Throws InputError when the file is no trace. */
export async function slimTrace(file: string, options: SlimOptions): Promise<Slimmed> {
  const plan = await readPlan(file, options);
  const named = new Set(options.drop);
  let [count, drop] = [plan.steps.length, named];
  let sizes: Sizes | null = null;
  if (options.max !== null) {
    sizes = await measure(file, plan, named, options.onBytes);
    ({ count, drop } = fitTo(options.max, sizes, plan, named));
  }
  for (;;) {
    const part = partOf(plan, count, drop);
    const written = await write(file, plan, part, options);
    if (written) {
      const steps = Number.isFinite(part.from) ? ([part.first, part.last] as const) : null;
      return { ...written, steps, dropped: [...drop].filter((name) => plan.categories.includes(name)) };
    }
    // What belongs to a step was estimated.
    if (--count < 1) throw new InputError(`one step does not fit into ${formatBytes(bytes(options.max!))}`);
  }
}

/** What people may take for one. */
const OTHER_FILES: Readonly<Record<string, string>> = {
  facts: 'it has only facts of one; name the trace itself',
  events: 'it is an event log',
  nsys: 'it is a recording of Nsight Systems',
};

async function readPlan(file: string, { steps, max, drop }: SlimOptions): Promise<SlimPlan> {
  const use = (read: Read) => {
    const { kind, content } = read;
    if (content.of === 'trace' && isRewritable(read))
      return planSlim(
        new Trace(content.trace),
        read.kind,
        steps,
        max !== null,
        max !== null || drop.length > 0,
      );
    return content.of === 'nothing' ? content.looksLike : (OTHER_FILES[kind] ?? `it is of kind ${kind}`);
  };
  const { members, problems } = await readFile(file, use, () => {}, { whole: true });
  const plans = members.filter((m): m is SlimPlan => typeof m !== 'string');
  if (plans.length === 1 && members.length === 1) return plans[0]!;
  if (plans.length > 1)
    throw new InputError(`${file} has ${plans.length} traces in it: unpack it and name one`);
  const why = members.find((m) => typeof m === 'string') ?? problems[0]?.message ?? 'it is empty';
  throw new InputError(`${file} is no PyTorch profiler trace: ${why}`);
}

/** Calls `use` with each event and its start. Waits for `pause` now and then. */
export async function eachEvent(
  file: string,
  { times, kind, path }: Pick<SlimPlan, 'times' | 'kind'> & { readonly path?: string },
  use: (event: RawEvent, start: number) => void,
  pause: () => Promise<unknown>,
  onBytes: (stored: number) => void = () => {},
): Promise<{ readonly fields: ReadonlyMap<string, string>; readonly problems: readonly Problem[] }> {
  if (kind !== 'kineto') return eachModelEvent(file, path, use, pause, onBytes);
  let result: ReturnType<RawEventReader['finish']> | null = null;
  await visitMembers(file, async (member) => {
    if (result !== null || (path !== undefined && member.path !== path)) return;
    const reader = new RawEventReader((event) => {
      const ts = timeToken(event.text, event.value.ts);
      use(event, ts === null ? Number.NaN : times.fromBase(ts));
    });
    for await (const chunk of member.stream.chunks) {
      reader.push(chunk);
      onBytes(member.stream.stats.storedBytes);
      await pause();
    }
    const end = reader.finish();
    result = { fields: end.fields, problems: [...member.stream.stats.problems.list(), ...end.problems] };
  });
  return result ?? { fields: new Map(), problems: [] };
}

async function measure(
  file: string,
  plan: SlimPlan,
  drop: ReadonlySet<string>,
  onBytes: SlimOptions['onBytes'],
): Promise<Sizes> {
  const keeper = new EventKeeper(partOf(plan, plan.steps.length, drop), plan.index);
  const table = new SizeTable(plan);
  const add = (event: RawEvent, start: number) => {
    if (keeper.keeps(event, start)) table.add(event, start);
  };
  await eachEvent(file, plan, add, async () => {}, onBytes);
  return table;
}

/** Null: it exceeds the limit. */
async function write(file: string, plan: SlimPlan, part: KeptPart, { out, max, drop, onBytes }: SlimOptions) {
  const chrome = new ChromeFile(out);
  const keeper = new EventKeeper(part, plan.index);
  const tracks = new TrackIds();
  let [kept, of] = [0, 0];
  const add = (event: RawEvent, start: number) => {
    of++;
    if (!keeper.keeps(event, start)) return;
    kept++;
    chrome.add(fixed(event, start, plan, tracks, chrome));
  };
  const isOver = () => max !== null && chrome.bytes > max;
  try {
    const { fields, problems } = await eachEvent(file, plan, add, () => chrome.flush(), onBytes);
    await chrome.flush(true);
    if (isOver()) return null;
    await chrome.finish(withPlan(fields, plan, part.drop));
    const log = new ProblemLog();
    log.addAll(problems);
    noteUnknown(drop, new Set(plan.categories), log);
    const text = {
      message: 'Slices overlap on a track',
      consequence: 'Perfetto will not show some of them.',
    };
    log.add('overlapping-slices', text, null, plan.overlaps.left);
    return { events: kept, of, bytes: chrome.bytes, problems: log.list() };
  } finally {
    await chrome.abandon();
  }
}

/** The event as Perfetto shows it, on a track that it takes, where it overlaps no other. */
function fixed(event: RawEvent, start: number, plan: SlimPlan, tracks: TrackIds, chrome: ChromeFile): string {
  const { text, value } = event;
  const { overlaps, origin } = plan;
  const isOdd = value.ph === 'X' && overlaps.fixed.size > 0;
  const key = isOdd ? sliceKey(value.pid, value.tid, start, durationNs(value.dur)) : '';
  const { lane = 0, duration = null } = overlaps.fixed.get(key) ?? {};
  const tid = tracks.idOf(value.pid, value.tid, lane, (e) => chrome.add(e));
  const ts = origin && !Number.isNaN(start) ? microseconds(start + origin.toBase) : null;
  if (tid === null && duration === null && ts === null) return text;
  return withValues(text, placesOf(text), {
    tid: tid === null ? null : String(tid),
    ts,
    dur: duration === null ? null : microseconds(duration),
  });
}

function withPlan(
  fields: ReadonlyMap<string, string>,
  { origin, isCut, unprofiled, categories }: SlimPlan,
  drop: ReadonlySet<string>,
): Map<string, string> {
  const all = new Map(fields);
  const dropped = [...drop].filter((name) => categories.includes(name));
  if (dropped.length > 0) all.set(SLIM_FIELD, JSON.stringify({ dropped, unprofiled }));
  if (origin) all.set('baseTimeNanoseconds', String(origin.baseTimeNanoseconds));
  if (isCut) all.set(CUT_FIELD, 'true');
  return all;
}

/** Bytes of JSON by category and step. */
interface Sizes {
  /** Of steps 0 to `count` − 1 and what belongs to no step, without these categories. */
  total(count: number, drop: ReadonlySet<string>): number;
}

/** For fields around the events and the brackets. */
const FRAME_BYTES = 64 << 10;

/** Adds up events. What is before the first step, and what has no time, belongs to every part. */
class SizeTable implements Sizes {
  readonly #plan: SlimPlan;
  readonly #ends: Float64Array;
  /** By category: what is always there, then each step. */
  readonly #bytes = new Map<string, Float64Array>();

  constructor(plan: SlimPlan) {
    this.#plan = plan;
    this.#ends = Float64Array.from(plan.steps, (s) => s.hostEnd);
  }

  add({ text, value }: RawEvent, start: number): void {
    const category = typeof value.cat === 'string' ? value.cat : '';
    const column = this.#bytes.get(category) ?? new Float64Array(this.#ends.length + 1);
    this.#bytes.set(category, column);
    const isWork = isGpuWork(categoryOf(category, wordOf(value.ph)));
    const launched = isWork
      ? this.#plan.index.launchTime((value.args as { correlation?: unknown } | null)?.correlation)
      : start;
    const time = Number.isNaN(launched) ? start : launched;
    const step = Number.isNaN(time) ? -1 : Math.min(lowerBound(this.#ends, time), this.#ends.length - 1);
    column[step + 1]! += text.length + 2;
  }

  total(count: number, drop: ReadonlySet<string>): number {
    let sum = FRAME_BYTES;
    for (const [category, column] of this.#bytes)
      if (!drop.has(category)) for (let i = 0; i <= count; i++) sum += column[i] ?? 0;
    return sum;
  }
}

/** What a viewer can do without, first the least useful. Each comes with all before it. */
const DISPENSABLE = [
  'python_function',
  'cpu_instant_event',
  'overhead',
  'fwdbwd',
  'cuda_sync',
  'ac2g',
  'cpu_op',
];
/** Fewer say little about how steps differ. */
const ENOUGH_STEPS = 3;

/** How many steps to keep and what to leave out. Throws InputError when not even one step fits. */
function fitTo(max: number, sizes: Sizes, { steps }: Pick<SlimPlan, 'steps'>, named: ReadonlySet<string>) {
  const drops = ['', ...DISPENSABLE].map((_, i) => new Set([...named, ...DISPENSABLE.slice(0, i)]));
  const fitting = (drop: ReadonlySet<string>) => {
    if (steps.length === 0) return sizes.total(0, drop) <= max ? 1 : 0;
    let count = steps.length;
    while (count > 0 && sizes.total(count, drop) > max) count--;
    return count;
  };
  let best: { count: number; drop: Set<string> } | null = null;
  for (const drop of drops) {
    const count = fitting(drop);
    if (count > (best?.count ?? 0)) best = { count, drop };
    if (count >= Math.min(ENOUGH_STEPS, Math.max(1, steps.length))) break;
  }
  if (best) return best;
  const least = formatBytes(bytes(sizes.total(Math.min(1, steps.length), drops.at(-1)!)));
  throw new InputError(`--max is too small: the smallest part takes ${least}`);
}
