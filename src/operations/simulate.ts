import { largest } from '../base/statistics.js';
import type { Graph } from './graph.js';

/**
 * Plays a step on all lanes at once and returns how long each step takes. An operation starts when all that it waits for
 * has ended. A member of a group ends its own `time` after the last member has started. `time` is in seconds, indexed by
 * operation × lanes + lane. `ranks` consecutive lanes are one step.
 */
export function simulate(graph: Graph, time: Float64Array, lanes: number, ranks: number): Float64Array {
  const { after, groups, groupOf, order } = graph;
  /** End of each operation; its start while it waits for its group. */
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

/** Gives all ranks of a step the latest of their values. */
export function shareLatest(values: Float64Array, ranks: number): void {
  for (let first = 0; first < values.length; first += ranks)
    values.fill(largest(values.subarray(first, first + ranks)), first, first + ranks);
}
