import { InputError } from '../base/input-error.js';
import { lowerBound } from '../base/search.js';
import { bytes, formatBytes } from '../base/units.js';
import { categoryOf, isGpuWork } from '../model/category.js';
import type { RawEvent } from '../readers/kineto/raw-events.js';
import { wordOf } from './event-text.js';
import type { SlimPlan } from './slim-plan.js';

/** Bytes of JSON by category and step. */
export interface Sizes {
  /** Of steps 0 to `count` − 1 and what belongs to no step, without these categories. */
  total(count: number, drop: ReadonlySet<string>): number;
}

/** For fields around the events and the brackets. */
const FRAME_BYTES = 64 << 10;

/** Adds up events. What is before the first step, and what has no time, belongs to every part. */
export class SizeTable implements Sizes {
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
export function fitTo(
  max: number,
  sizes: Sizes,
  { steps }: Pick<SlimPlan, 'steps'>,
  named: ReadonlySet<string>,
) {
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
