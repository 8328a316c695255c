import { ascending } from './progress.js';
import { REASONS, type Wait } from './waits.js';

/** Ranks for which others wait and that wait for nobody, and rings of ranks that wait for each other. */
export interface Blame {
  readonly culprits: readonly number[];
  readonly rings: readonly (readonly number[])[];
}

/**
 * Follows the waits to their ends. Where ranks wait for each other in a ring, the least certain waits in it are dropped until
 * somebody waits for nobody.
 */
export function blame(waits: readonly Wait[]): Blame {
  const culprits: number[] = [];
  const rings: (readonly number[])[] = [];
  const open: (readonly Wait[])[] = [waits];
  for (let part = open.pop(); part; part = open.pop()) {
    for (const ranks of endsOf(part)) {
      const [first] = ranks;
      if (ranks.size === 1) culprits.push(first!);
      else {
        const inside = part.filter((w) => ranks.has(w.rank) && ranks.has(w.on));
        const kept = withoutWorst(inside);
        if (kept.length > 0) open.push(kept);
        else rings.push([...ranks].sort(ascending));
      }
    }
  }
  return { culprits: [...new Set(culprits)].sort(ascending), rings };
}

/** Empty: all are equally certain. */
function withoutWorst(waits: readonly Wait[]): readonly Wait[] {
  const worst = waits.reduce((most, w) => Math.max(most, REASONS.indexOf(w.reason)), 0);
  return waits.filter((w) => REASONS.indexOf(w.reason) < worst);
}

/** Sets of ranks that reach each other and nobody else, though somebody waits for each: Tarjan's algorithm, without recursion. */
function endsOf(waits: readonly Wait[]): readonly ReadonlySet<number>[] {
  const next = new Map<number, number[]>();
  for (const { rank, on } of waits) {
    if (!next.has(rank)) next.set(rank, []);
    if (!next.has(on)) next.set(on, []);
    next.get(rank)!.push(on);
  }
  const order = new Map<number, number>();
  const low = new Map<number, number>();
  const stack: number[] = [];
  const part = new Map<number, ReadonlySet<number>>();
  for (const start of next.keys()) {
    if (order.has(start)) continue;
    const path: { readonly rank: number; at: number }[] = [{ rank: start, at: 0 }];
    while (path.length > 0) {
      const top = path.at(-1)!;
      const { rank } = top;
      if (top.at === 0 && !order.has(rank)) {
        order.set(rank, order.size);
        low.set(rank, order.get(rank)!);
        stack.push(rank);
      }
      const to = next.get(rank)![top.at++];
      if (to !== undefined) {
        if (!order.has(to)) path.push({ rank: to, at: 0 });
        else if (!part.has(to)) low.set(rank, Math.min(low.get(rank)!, order.get(to)!));
        continue;
      }
      path.pop();
      const parent = path.at(-1);
      if (parent) low.set(parent.rank, Math.min(low.get(parent.rank)!, low.get(rank)!));
      if (low.get(rank) === order.get(rank)) {
        const members = new Set(stack.splice(stack.indexOf(rank)));
        for (const member of members) part.set(member, members);
      }
    }
  }
  return [...new Set(part.values())].filter((members) =>
    [...members].every((rank) => next.get(rank)!.every((to) => members.has(to))),
  );
}
