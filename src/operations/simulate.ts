import type { Graph } from './graph.js';

/**
 * Plays the step on all lanes at once: an operation starts when what it waits for has ended; what belongs to a group
 * ends its own `time` after the last of the group has started. `time` is by operation × lanes + lane, in seconds.
 * `ranks` lanes after each other are one step. Returns how long each step takes.
 */
export function simulate(graph: Graph, time: Float64Array, lanes: number, ranks: number): Float64Array {
  const { after, groups, groupOf, order } = graph;
  /** Start of what waits for its group, end of all else. */
  const end = new Float64Array(time.length);
  const toStart = Int32Array.from(groups, ({ members }) => members.length);
  const common = new Float64Array(lanes);
  const longest = new Float64Array(lanes);
  for (const node of order) {
    const at = node * lanes;
    for (const before of after[node]!) {
      const from = before * lanes;
      for (let lane = 0; lane < lanes; lane++)
        if (end[from + lane]! > end[at + lane]!) end[at + lane] = end[from + lane]!;
    }
    const g = groupOf[node]!;
    if (g < 0) {
      finish(end, time, at, lanes, end, at, longest);
      continue;
    }
    if (--toStart[g]! > 0) continue;
    const { members, overDp } = groups[g]!;
    common.fill(0);
    for (const member of members)
      for (let lane = 0; lane < lanes; lane++)
        if (end[member * lanes + lane]! > common[lane]!) common[lane] = end[member * lanes + lane]!;
    if (overDp) shareLatest(common, ranks);
    for (const member of members) finish(end, time, member * lanes, lanes, common, 0, longest);
  }
  const steps = new Float64Array(lanes / ranks);
  for (let lane = 0; lane < lanes; lane++) {
    const step = Math.floor(lane / ranks);
    if (longest[lane]! > steps[step]!) steps[step] = longest[lane]!;
  }
  return steps;
}

/** end = start + time, and the latest end of each lane. */
function finish(
  end: Float64Array,
  time: Float64Array,
  at: number,
  lanes: number,
  start: Float64Array,
  startAt: number,
  longest: Float64Array,
): void {
  for (let lane = 0; lane < lanes; lane++) {
    const ended = start[startAt + lane]! + time[at + lane]!;
    end[at + lane] = ended;
    if (ended > longest[lane]!) longest[lane] = ended;
  }
}

function shareLatest(start: Float64Array, ranks: number): void {
  for (let first = 0; first < start.length; first += ranks) {
    let latest = start[first]!;
    for (let lane = first + 1; lane < first + ranks; lane++) latest = Math.max(latest, start[lane]!);
    start.fill(latest, first, first + ranks);
  }
}
