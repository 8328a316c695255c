import { namedRanks } from '../../src/base/rank-ranges.js';
import type { WaitsOnPage } from '../../src/page/page-data.js';

/** Ranks that wait for the same others, or that hold others up. */
export interface GraphNode {
  readonly ranks: readonly number[];
  readonly label: string;
  /** The call in which it waits. Null: it waits for nobody. */
  readonly call: string | null;
  readonly isCulprit: boolean;
  readonly x: number;
  readonly y: number;
}

export interface WaitGraph {
  readonly nodes: readonly GraphNode[];
  /** Paths of the arrows, from who waits to whom it waits for. */
  readonly arrows: readonly { readonly from: number; readonly to: number; readonly path: string }[];
  readonly width: number;
  readonly height: number;
}

export const NODE = { width: 184, height: 40 } as const;
const GAP = { x: 76, y: 18 } as const;
const MARGIN = 8;

/** Columns from right to left: who holds the others up, who waits for those, who waits for these, … */
export function waitGraph({ culprits, waits }: WaitsOnPage): WaitGraph {
  const sets = [
    ...waits.map(({ ranks, call }) => ({ ranks, call })),
    ...waits
      .flatMap(({ on }) => on)
      .concat(culprits)
      .filter((rank, i, all) => all.indexOf(rank) === i && !waits.some((w) => w.ranks.includes(rank)))
      .map((rank) => ({ ranks: [rank], call: null })),
  ];
  const edges = waits.flatMap(({ on }, from) =>
    sets.flatMap(({ ranks }, to) => (to !== from && ranks.some((r) => on.includes(r)) ? [{ from, to }] : [])),
  );
  const isCulprit = sets.map(({ ranks }) => ranks.some((r) => culprits.includes(r)));
  const columns = distances(
    sets.map((_, i) => isCulprit[i]! || !edges.some((e) => e.from === i)),
    edges,
  );
  const last = Math.max(...columns);
  const filled = new Map<number, number>();
  const nodes = sets.map(({ ranks, call }, i) => {
    const row = filled.get(columns[i]!) ?? 0;
    filled.set(columns[i]!, row + 1);
    const x = MARGIN + (last - columns[i]!) * (NODE.width + GAP.x);
    const y = MARGIN + row * (NODE.height + GAP.y);
    return { ranks, label: namedRanks(ranks), call, isCulprit: isCulprit[i]!, x, y };
  });
  const rows = Math.max(...filled.values());
  // Arrows between nodes of one column bend out to the right.
  const bends = edges.some(({ from, to }) => nodes[from]!.x >= nodes[to]!.x) ? GAP.x / 2 : 0;
  return {
    nodes,
    arrows: edges.map(({ from, to }) => ({ from, to, path: arrow(nodes[from]!, nodes[to]!) })),
    width: 2 * MARGIN + last * (NODE.width + GAP.x) + NODE.width + bends,
    height: 2 * MARGIN + rows * (NODE.height + GAP.y) - GAP.y,
  };
}

/** How many waits lead from each node to one of the ends. If none does, the first node of a ring is an end too. */
function distances(isEnd: readonly boolean[], edges: readonly { from: number; to: number }[]): number[] {
  const found: number[] = isEnd.map((is) => (is ? 0 : -1));
  for (;;) {
    for (let grew = true; grew; ) {
      grew = false;
      for (const { from, to } of edges)
        if (found[to]! >= 0 && (found[from]! < 0 || found[from]! > found[to]! + 1)) {
          found[from] = found[to]! + 1;
          grew = true;
        }
    }
    const left = found.indexOf(-1);
    if (left < 0) return found;
    found[left] = 0;
  }
}

type Place = Pick<GraphNode, 'x' | 'y'>;

function arrow(from: Place, to: Place): string {
  const [x0, y0] = [from.x + NODE.width, from.y + NODE.height / 2];
  const isForward = to.x > from.x;
  const [x1, y1] = [isForward ? to.x : to.x + NODE.width, to.y + NODE.height / 2 + (isForward ? 0 : 6)];
  const bend = GAP.x / 2;
  return `M${x0} ${y0}C${x0 + bend} ${y0} ${isForward ? x1 - bend : x1 + bend} ${y1} ${x1} ${y1}`;
}
