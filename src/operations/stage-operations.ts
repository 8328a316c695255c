import { KIND, type Kind } from './kinds.js';
import type { Operation } from './layout.js';

/** Operations of one stage by kind, in order of start. */
export class StageOperations {
  readonly #byKind = new Map<Kind, number[]>();

  constructor(
    readonly operations: readonly Operation[],
    readonly stage: number,
    nodes: readonly number[],
  ) {
    for (const node of nodes.toSorted(this.#byStart)) {
      const ofKind = this.#byKind.get(operations[node]!.kind);
      if (ofKind) ofKind.push(node);
      else this.#byKind.set(operations[node]!.kind, [node]);
    }
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

  /** The one that ends last; undefined for none. */
  lastEnd(nodes: readonly number[]): number | undefined {
    return nodes.reduce<number | undefined>(
      (last, node) =>
        last === undefined || this.operations[node]!.end > this.operations[last]!.end ? node : last,
      undefined,
    );
  }
}
