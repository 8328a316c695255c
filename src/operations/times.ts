import { mean, median } from '../base/statistics.js';
import type { OperationTable } from '../model/operation-table.js';
import type { Graph } from './graph.js';
import { COMMUNICATES } from './kinds.js';
import type { Layout } from './layout.js';
import { shareLatest } from './simulate.js';

/** Seconds. A transfer that ends this long before its last member starts has wrong times. Less is clock error. */
const IMPOSSIBLE = 0.01;

/**
 * How long each operation takes without waiting, in seconds, indexed by operation × lanes + lane. For a transfer this is
 * the time from the last start in its group to its end.
 */
export function ownTimes(layout: Layout, graph: Graph, table: OperationTable): Float64Array {
  const { lanes, rows, dpRanks } = layout;
  const times = Float64Array.from(rows, (row) => Math.max(0, table.duration[row]!));
  const latest = new Float64Array(lanes);
  for (const { members, overDp } of graph.groups) {
    latest.fill(Number.NEGATIVE_INFINITY);
    for (const node of members)
      for (let lane = 0; lane < lanes; lane++)
        latest[lane] = Math.max(latest[lane]!, table.start[rows[node * lanes + lane]!]!);
    if (overDp) shareLatest(latest, dpRanks.length);
    for (const node of members)
      for (let lane = 0; lane < lanes; lane++) {
        const row = rows[node * lanes + lane]!;
        const moving = table.start[row]! + table.duration[row]! - latest[lane]!;
        times[node * lanes + lane] = moving <= -IMPOSSIBLE ? 0 : moving;
      }
  }
  return times;
}

/** The ideal time of each operation, equal for all of a kind. */
export function idealTimes(layout: Layout, times: Float64Array): Float64Array {
  const { operations, lanes } = layout;
  const ideal = new Float64Array(operations.length);
  for (const kind of new Set(operations.map((o) => o.kind))) {
    const nodes = [...operations.keys()].filter((node) => operations[node]!.kind === kind);
    const all = new Float64Array(nodes.length * lanes);
    nodes.forEach((node, i) => {
      all.set(times.subarray(node * lanes, (node + 1) * lanes), i * lanes);
    });
    const value = COMMUNICATES.has(kind) ? median(all) : mean(all);
    for (const node of nodes) ideal[node] = value;
  }
  return ideal;
}

/** Recorded step times in seconds. */
export function recordedSteps(layout: Layout, table: OperationTable): Float64Array {
  const { rows, lanes, dpRanks, steps } = layout;
  const first = new Float64Array(steps.length).fill(Number.POSITIVE_INFINITY);
  const last = new Float64Array(steps.length).fill(Number.NEGATIVE_INFINITY);
  rows.forEach((row, i) => {
    const step = Math.floor((i % lanes) / dpRanks.length);
    first[step] = Math.min(first[step]!, table.start[row]!);
    last[step] = Math.max(last[step]!, table.start[row]! + table.duration[row]!);
  });
  return last.map((end, step) => end - first[step]!);
}
