import { groupBy } from '../base/group-by.js';
import { KIND, type Kind } from './kinds.js';
import type { Operation } from './layout.js';

/** Operations of one stage by kind, in order of start. */
export class StageOperations {
  readonly #byKind: ReadonlyMap<Kind, readonly number[]>;

  constructor(
    readonly operations: readonly Operation[],
    readonly stage: number,
    nodes: readonly number[],
  ) {
    this.#byKind = groupBy(nodes.toSorted(this.#byStart), (node) => operations[node]!.kind);
  }

  readonly #byStart = (a: number, b: number) => {
    const [x, y] = [this.operations[a]!, this.operations[b]!];
    return x.start - y.start || x.sequence - y.sequence || a - b;
  };

  of(...kinds: readonly Kind[]): readonly number[] {
    const nodes = kinds.flatMap((kind) => this.#byKind.get(kind) ?? []);
    return kinds.length > 1 ? nodes.sort(this.#byStart) : nodes;
  }

  compute(): readonly number[] {
    return this.of(KIND.forward, KIND.backward);
  }

  byChunk(kind: Kind): Map<number, number[]> {
    return groupBy(this.of(kind), (node) => this.operations[node]!.chunk);
  }

  /** The operation that ends last; undefined for none. */
  lastEnd(nodes: readonly number[]): number | undefined {
    return nodes.reduce<number | undefined>(
      (last, node) =>
        last === undefined || this.operations[node]!.end > this.operations[last]!.end ? node : last,
      undefined,
    );
  }
}
