import { Category, categoryOf, isGpuWork } from '../model/category.js';
import type { RawEvent } from '../readers/kineto/raw-events.js';
import { durationNs, wordOf } from './event-text.js';
import type { TraceIndex } from './trace-index.js';

/** The part of a trace to keep. ns of the trace. */
export interface KeptPart {
  /** When the host began the first step and ended the last. */
  readonly from: number;
  readonly to: number;
  /** When the device was done with the last step. */
  readonly deviceTo: number;
  /** Numbers of the steps. */
  readonly first: number;
  readonly last: number;
  /** Categories to leave out, as the file names them. */
  readonly drop: ReadonlySet<string>;
}

const STEP = /^ProfilerStep#(\d+)$/;
const ON_DEVICE: readonly Category[] = [Category.gpuAnnotation, Category.sync];
/** Flows of these categories lead from operators to operators; others from calls to GPU work. */
const OPERATORS = ['cpu_op', 'Operator'];
const LAUNCHES = /_runtime$|_driver$|^Runtime$|^kernel$|^Kernel$|memcpy$|memset$/i;

/** Decides event by event. Events of a pair are kept both or neither. */
export class EventKeeper {
  readonly #part: KeptPart;
  readonly #index: TraceIndex;
  readonly #dropsOperators: boolean;
  readonly #dropsLaunches: boolean;
  /** For `B` and `E`, by track: whether the open ones are kept. For async events, by id. */
  readonly #open = new Map<string, boolean[]>();

  constructor(part: KeptPart, index: TraceIndex) {
    this.#part = part;
    this.#index = index;
    this.#dropsOperators = OPERATORS.some((name) => part.drop.has(name));
    this.#dropsLaunches = [...part.drop].some((name) => LAUNCHES.test(name));
  }

  /** `start`: ns of the trace; NaN: it has no time. */
  keeps({ value }: RawEvent, start: number): boolean {
    const phase = wordOf(value.ph);
    const category = typeof value.cat === 'string' ? value.cat : '';
    if (phase === 'M') return true;
    const dropped = this.#part.drop.has(category);
    const begins = !dropped && this.#isInside(start);
    switch (phase) {
      // An end need not repeat the category of its begin.
      case 'B':
        return this.#opens(`${wordOf(value.pid)} ${wordOf(value.tid)}`, begins);
      case 'E':
        return this.#closes(`${wordOf(value.pid)} ${wordOf(value.tid)}`);
      case 'b':
        return this.#opens(`${category} ${wordOf(value.id)}`, begins);
      case 'e':
        return this.#closes(`${category} ${wordOf(value.id)}`);
    }
    if (dropped) return false;
    switch (phase) {
      case 's':
      case 't':
      case 'f':
        return this.#keepsFlow(category, value.id);
      case 'X':
        return this.#keepsSlice(value, categoryOf(category, phase), start);
      default:
        // Marks of the recording as a whole have no category.
        return (phase === 'i' && category === '') || this.#isInside(start);
    }
  }

  #keepsSlice(value: RawEvent['value'], category: Category, start: number): boolean {
    const { from, to, deviceTo, first, last } = this.#part;
    const end = start + durationNs(value.dur);
    if (isGpuWork(category) || ON_DEVICE.includes(category)) {
      const launched = this.#index.launchTime((value.args as { correlation?: unknown } | null)?.correlation);
      return Number.isNaN(launched) ? start < deviceTo && end > from : this.#isInside(launched);
    }
    const step = STEP.exec(wordOf(value.name))?.[1];
    if (step !== undefined) return Number(step) >= first && Number(step) <= last;
    return (start < to && end > from) || start === from;
  }

  #keepsFlow(category: string, id: unknown): boolean {
    const follows = this.#index.followsCalls(category);
    if (follows ? this.#dropsLaunches : this.#dropsOperators) return false;
    const times = this.#index.flowTimes(category, id);
    return times?.every((time) => this.#isInside(time)) ?? false;
  }

  #isInside(time: number): boolean {
    return time >= this.#part.from && time < this.#part.to;
  }

  #opens(key: string, isKept: boolean): boolean {
    const open = this.#open.get(key);
    if (open) open.push(isKept);
    else this.#open.set(key, [isKept]);
    return isKept;
  }

  #closes(key: string): boolean {
    return this.#open.get(key)?.pop() ?? false;
  }
}
