import { inBlocks } from '../../base/blocks.js';
import { CoverageCursor, isInside, type Spans, unionOfSpans } from '../../base/intervals.js';
import { partitionPoint } from '../../base/search.js';
import { largest } from '../../base/statistics.js';
import { FREES_MEMORY, SYNCHRONIZES } from '../../model/host-names.js';
import { LAUNCH, likeCopies, type Plan, type PlanNodes, SYNC, waitForEarlier } from '../../replay/plan.js';
import type { HostTree } from '../detail/host-tree.js';
import type { CopyKind } from '../kernels/kernel-kind.js';
import { type Call, layOutWorks, type Observed, type PlanInput } from './plan-works.js';

/** CUDA lets about a thousand launches queue, then blocks. A long call with fewer queued is slow for another reason. */
const FULL_QUEUE = 500;
const LONG_CALL_NS = 30_000;
/** Host time of a call that only waits. */
const SHORT_CALL_NS = 5_000;
/** Clocks of host and device differ: a call may seem to end this much before the work it waited for. */
const CLOCK_SLACK_NS = 5_000;
const MAX_STREAMS = 64;

/** Null when there is nothing to replay: no launches, or one step that does not count. */
export function buildPlan(input: PlanInput): Plan | null {
  const { steps } = input;
  if (steps.length === 0 || (steps.length === 1 && !input.includesFirst)) return null;
  const calls = callsInOrder(input);
  const begin = steps[0]!.hostStart;
  const { works, observed, streamBusyUntil, earlierEnds } = layOutWorks(input, calls, begin);
  if (works.length === 0 || streamBusyUntil.length > MAX_STREAMS) return null;
  const nodes = layOutNodes(input, calls, observed, earlierEnds, streamBusyUntil.length, begin);
  return likeCopies({
    nodes,
    works,
    steps: { length: steps.length, includesFirst: input.includesFirst, begin: input.begin },
    begin,
    streamBusyUntil,
    earlierEnds,
    tail: Math.max(0, steps.at(-1)!.hostEnd - largest(calls.map((c) => c.end))),
    pace: input.pace,
  });
}

function callsInOrder({ trace, work, stepOf, tree, steps }: PlanInput): Call[] {
  const byRow = new Map<number, Call>();
  const { ts, dur } = trace.data;
  inBlocks(work.length, (first, last) => {
    for (let i = first; i < last; i++) {
      const row = work.launchRow[i]!;
      if (row < 0 || stepOf[i]! < 0 || stepOf[i]! >= steps.length) continue;
      const known = byRow.get(row);
      if (known) known.works.push(i);
      else {
        const start = ts[row]!;
        byRow.set(row, { row, index: tree.indexOf(row), start, end: start + dur[row]!, works: [i] });
      }
    }
  });
  const calls = [...byRow.values()];
  const synchronizes = trace.strings.memo((name) =>
    Number(SYNCHRONIZES.test(name) || FREES_MEMORY.test(name)),
  );
  for (let index = 0; index < tree.length; index++) {
    const row = tree.row[index]!;
    if (synchronizes(trace.data.name[row]!) === 0 || byRow.has(row)) continue;
    calls.push({ row, index, start: tree.start[index]!, end: tree.end[index]!, works: [] });
  }
  return calls.sort((a, b) => a.start - b.start);
}

function layOutNodes(
  input: PlanInput,
  calls: readonly Call[],
  observed: Observed,
  earlierEnds: Float64Array,
  streams: number,
  begin: number,
): PlanNodes {
  const { host, tree, steps, trace, kinds } = input;
  const n = calls.length;
  const f64 = () => new Float64Array(n);
  const u32 = () => new Uint32Array(n);
  const recorded = tree.start.filter((_, i) => tree.counted[i] === 1);
  const inInput = (time: number) => isInside(host.waits.data, time);
  const nodes = {
    length: n,
    kind: new Uint8Array(n),
    step: new Int32Array(n),
    roles: u32(),
    hostWork: f64(),
    data: f64(),
    compile: f64(),
    comms: f64(),
    call: f64(),
    returnLag: f64(),
    inOperator: f64(),
    arithmetic: f64(),
    dataEvents: countStarts(recorded.filter(inInput), calls),
    dataFrames: countStarts(input.frames.filter(inInput), calls),
    events: countStarts(
      recorded.filter((start) => !inInput(start)),
      calls,
    ),
    frames: countStarts(
      input.frames.filter((start) => !inInput(start)),
      calls,
    ),
    graphKernels: u32(),
    tritonLaunches: new Uint8Array(n),
    firstWork: u32(),
    workCount: u32(),
    waitsFor: new Int32Array(n).fill(-1),
    awaited: new Int32Array(n * streams).fill(-1),
    queued: u32(),
  };
  const waits = {
    data: new CoverageCursor(host.waits.data),
    compile: new CoverageCursor(host.waits.compile),
    comms: new CoverageCursor(host.waits.comms),
  };
  const isTriton = trace.strings.memo((name) => Number(name.startsWith('triton_')));
  const arithmetic = new CoverageCursor(arithmeticOnHost(tree));
  let now = begin;
  let step = 0;
  let nextWork = 0;
  for (let k = 0; k < n; k++) {
    const call = calls[k]!;
    while (step + 1 < steps.length && call.start >= steps[step + 1]!.hostStart) step++;
    nodes.step[k] = step;
    nodes.roles[k] = call.index < 0 ? 0 : tree.roles[call.index]!;
    nodes.kind[k] = call.works.length > 0 ? LAUNCH : SYNC;
    const gap = Math.max(0, call.start - now);
    nodes.data[k] = waits.data.covered(now, call.start);
    nodes.compile[k] = waits.compile.covered(now, call.start);
    nodes.comms[k] = waits.comms.covered(now, call.start);
    nodes.hostWork[k] = Math.max(0, gap - nodes.data[k]! - nodes.compile[k]! - nodes.comms[k]!);
    nodes.arithmetic[k] = Math.min(nodes.hostWork[k]!, arithmetic.covered(now, call.start));
    if (call.index >= 0) {
      const operator = tree.start[outermostOperator(tree, call.index)]!;
      nodes.inOperator[k] = Math.min(nodes.hostWork[k]!, Math.max(0, call.start - Math.max(now, operator)));
    }
    nodes.call[k] = Math.max(0, call.end - Math.max(now, call.start));
    nodes.firstWork[k] = nextWork;
    nodes.queued[k] =
      nextWork - 1 - observed.lastDone(call.start, nextWork) + pending(earlierEnds, call.start);
    nodes.workCount[k] = call.works.length;
    nextWork += call.works.length;
    if (call.works.length > 1) nodes.graphKernels[k] = call.works.length;
    if (call.works.length > 0) {
      const name = trace.data.name[input.work.row[call.works.at(-1)!]!]!;
      nodes.tritonLaunches[k] = call.works.length === 1 ? isTriton(name) : 0;
      const kind = kinds[name];
      const blocked = kind?.copy
        ? blockingCopy(call, trace.name(call.row), observed, nextWork - 1, kind.copy.hostMemory)
        : fullQueue(call, observed, earlierEnds, nodes.firstWork[k]!, nodes.queued[k]!);
      if (blocked !== -1) {
        nodes.waitsFor[k] = blocked;
        nodes.returnLag[k] = call.end - (blocked < 0 ? earlierEnds.at(blocked + 1)! : observed.end[blocked]!);
        nodes.call[k] = Math.min(nodes.call[k]!, SHORT_CALL_NS);
      }
    } else awaitStreams(nodes, k, call, observed, streams, nextWork, /Event/.test(trace.name(call.row)));
    now = Math.max(now, call.end);
  }
  return nodes;
}

/** The copy that the call waited for; −1: it did not wait. */
function blockingCopy(
  call: Call,
  name: string,
  observed: Observed,
  work: number,
  memory: CopyKind['hostMemory'],
): number {
  // CUDA promises it: pinned memory is copied while the host goes on. Such a call may still be slow, and end with its copy.
  if (memory === 'pinned' && name.endsWith('Async')) return -1;
  const end = observed.end[work]!;
  const duration = call.end - call.start;
  // The last piece of a long staged copy may still be running when the call returns.
  const slack = CLOCK_SLACK_NS + 0.02 * duration;
  // A pinned copy that happens to end during a short call was not waited for.
  const long = duration > (memory === 'pageable' ? SHORT_CALL_NS : LONG_CALL_NS);
  return end <= call.end + slack && end > call.start && long ? work : -1;
}

/** The work whose end made room in a full launch queue; −1: the queue was not full. */
function fullQueue(
  call: Call,
  observed: Observed,
  earlierEnds: Float64Array,
  firstWork: number,
  queued: number,
): number {
  if (call.end - call.start < LONG_CALL_NS || queued < FULL_QUEUE) return -1;
  const end = call.end + CLOCK_SLACK_NS;
  const done = observed.lastDone(end, firstWork);
  const left = pending(earlierEnds, end);
  return done >= 0 || left === earlierEnds.length ? done : waitForEarlier(left);
}

/** How much of the earlier work is not done at `time`. Work ends in the order of its launch, or nearly so. */
const pending = (ends: Float64Array, time: number) =>
  ends.length - partitionPoint(ends.length, (i) => ends[i]! <= time);

/** What a synchronizing call waited for: the last work on each stream that had ended when it returned. */
function awaitStreams(
  nodes: { awaited: Int32Array; returnLag: Float64Array; call: Float64Array },
  k: number,
  call: Call,
  observed: Observed,
  streams: number,
  launched: number,
  onEvent: boolean,
): void {
  let latest = Number.NEGATIVE_INFINITY;
  for (let s = 0; s < streams; s++) {
    const w = observed.lastDoneOnStream(s, call.end + CLOCK_SLACK_NS, launched);
    nodes.awaited[k * streams + s] = w;
    if (w >= 0) latest = Math.max(latest, observed.end[w]!);
  }
  // Which event a call waits for is not recorded. One that returns at once waited for nothing: work that happened to end
  // meanwhile is not what it asked for.
  const waited = latest > call.start && !(onEvent && call.end - call.start < LONG_CALL_NS);
  if (onEvent && !waited) nodes.awaited.fill(-1, k * streams, (k + 1) * streams);
  nodes.returnLag[k] = waited ? call.end - latest : Math.min(nodes.call[k]!, SHORT_CALL_NS);
  if (waited) nodes.call[k] = Math.min(nodes.call[k]!, SHORT_CALL_NS);
}

/** The outermost operator around a call: the one that the user's code, an annotation or a backward node called. */
function outermostOperator(tree: HostTree, index: number): number {
  let operator = index;
  for (let p = tree.parent[index]!; p >= 0 && tree.counted[p] === 1; p = tree.parent[p]!) {
    if (tree.isNode[p] === 1) break;
    operator = p;
  }
  return operator;
}

/** Operators on tensors of the device that launch nothing (views, allocations) take a few microseconds. */
const LEAST_ARITHMETIC_NS = 100_000;

/** When outermost operators ran that make no call to the device: they compute on the host. */
function arithmeticOnHost(tree: HostTree): Spans {
  const calls = new Uint8Array(tree.length);
  for (let i = tree.length - 1; i >= 0; i--) {
    if (tree.indexOf(tree.row[i]!) >= 0) calls[i] = 1;
    if (calls[i] === 1 && tree.parent[i]! >= 0) calls[tree.parent[i]!] = 1;
  }
  const isOutermost = (i: number) => {
    const parent = tree.parent[i]!;
    return parent < 0 || tree.counted[parent] === 0 || tree.isNode[parent] === 1;
  };
  const spans: { start: number; end: number }[] = [];
  for (let i = 0; i < tree.length; i++) {
    if (tree.counted[i] === 0 || calls[i] === 1 || tree.isNode[i] === 1 || !isOutermost(i)) continue;
    if (tree.end[i]! - tree.start[i]! >= LEAST_ARITHMETIC_NS)
      spans.push({ start: tree.start[i]!, end: tree.end[i]! });
  }
  return unionOfSpans(spans);
}

/** For each call, the events recorded since the previous one, over all training threads. */
function countStarts(unsorted: Float64Array, calls: readonly Call[]): Uint32Array {
  const counts = new Uint32Array(calls.length);
  if (calls.length === 0) return counts;
  const starts = unsorted.slice().sort();
  let next = 0;
  for (let k = 0; k < calls.length; k++) {
    const first = next;
    while (next < starts.length && starts[next]! <= calls[k]!.start) next++;
    counts[k] = next - first;
  }
  counts[calls.length - 1]! += starts.length - next;
  return counts;
}
