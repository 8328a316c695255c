import { groupBy } from '../base/group-by.js';
import { indexInSorted } from '../base/search.js';
import { Category, isGpuWork } from '../model/category.js';
import { rowsOfKinds } from '../model/row-index.js';
import type { Trace } from '../model/trace.js';
import { type KindInfo, NO_ID } from '../model/trace-data.js';
import { numberOf } from './event-text.js';

/** When the two ends of flows happen on the host, by id. */
interface FlowTimes {
  readonly id: Float64Array;
  readonly from: Float64Array;
  readonly to: Float64Array;
}

/** When GPU work was launched and where flows lead: what one event alone does not show. ns of the trace. */
export class TraceIndex {
  /** Ids of runtime and driver calls, ascending, when each was made, and whether GPU work belongs to it. */
  readonly #callId: Float64Array;
  readonly #callTime: Float64Array;
  readonly #hasWork: Uint8Array;
  readonly #flows: ReadonlyMap<string, FlowTimes>;
  /** Categories of flows whose ids are those of calls. The model does not keep these flows. */
  readonly #followsCalls: ReadonlySet<string>;

  constructor(trace: Trace) {
    const { data } = trace;
    const calls = rowsOfKinds(data, (k) => k.category === Category.runtime || k.category === Category.driver)
      .filter((row) => data.correlation[row] !== NO_ID && !Number.isNaN(data.ts[row]!))
      .sort((a, b) => data.correlation[a]! - data.correlation[b]!);
    this.#callId = Float64Array.from(calls, (row) => data.correlation[row]!);
    this.#callTime = Float64Array.from(calls, (row) => data.ts[row]!);
    this.#hasWork = new Uint8Array(calls.length);
    for (const row of trace.links.work) {
      const call = this.#callOf(data.correlation[row]!);
      if (call >= 0) this.#hasWork[call] = 1;
    }
    this.#flows = this.#findFlows(trace);
    const kept = new Map(data.kinds.map((k, i) => [k, data.flows.kind.filter((f) => f === i).length]));
    const isFolded = (k: KindInfo) => k.category === Category.flow && k.folded > kept.get(k)!;
    this.#followsCalls = new Set(data.kinds.filter(isFolded).map((k) => k.categoryName));
  }

  /** When the call that started GPU work was made. NaN: no such call was recorded. */
  launchTime(correlation: unknown): number {
    return this.#callTime[this.#callOf(numberOf(correlation))] ?? Number.NaN;
  }

  /** When both ends of a flow happened on the host. Null: one of them is missing. */
  flowTimes(category: string, id: unknown): readonly [from: number, to: number] | null {
    const table = this.#flows.get(category);
    const i = table ? indexInSorted(table.id, numberOf(id)) : -1;
    if (i >= 0) return [table!.from[i]!, table!.to[i]!];
    const call = this.#followsCalls.has(category) ? this.#callOf(numberOf(id)) : -1;
    return call >= 0 && this.#hasWork[call] === 1 ? [this.#callTime[call]!, this.#callTime[call]!] : null;
  }

  /** Whether flows of this category lead from calls to the GPU work they start. */
  followsCalls(category: string): boolean {
    return this.#followsCalls.has(category);
  }

  #callOf(correlation: number): number {
    return indexInSorted(this.#callId, correlation);
  }

  /** Flows that do not follow correlation ids, such as from forward to backward. */
  #findFlows({ data }: Trace): Map<string, FlowTimes> {
    const ends: { category: string; id: number; isStart: boolean; time: number }[] = [];
    const add = (row: number, id: number, kind: number) => {
      const { phase, categoryName } = data.kinds[kind]!;
      const work = isGpuWork(data.kinds[data.kind[row]!]!.category);
      const launched = work ? this.launchTime(data.correlation[row]!) : Number.NaN;
      const time = Number.isNaN(launched) ? data.ts[row]! : launched;
      if (id !== NO_ID) ends.push({ category: categoryName, id, isStart: phase === 's', time });
    };
    const { row, id, kind } = data.flows;
    for (let i = 0; i < row.length; i++) add(row[i]!, id[i]!, kind[i]!);
    for (const r of rowsOfKinds(data, (k) => k.category === Category.flow))
      add(r, data.correlation[r]!, data.kind[r]!);
    const tables = new Map<string, FlowTimes>();
    for (const [category, list] of groupBy(ends, (e) => e.category)) {
      const times = new Map<number, [from: number, to: number]>();
      for (const { id: flow, isStart, time } of list) {
        const pair = times.get(flow) ?? [Number.NaN, Number.NaN];
        pair[isStart ? 0 : 1] = time;
        times.set(flow, pair);
      }
      const whole = [...times].filter(([, [from, to]]) => !Number.isNaN(from) && !Number.isNaN(to));
      whole.sort(([a], [b]) => a - b);
      tables.set(category, {
        id: Float64Array.from(whole, ([flow]) => flow),
        from: Float64Array.from(whole, ([, pair]) => pair[0]),
        to: Float64Array.from(whole, ([, pair]) => pair[1]),
      });
    }
    return tables;
  }
}
