import { groupBy } from '../../src/base/group-by.js';
import { largest, mean, median } from '../../src/base/statistics.js';
import type { RankPlan, RunPlan } from '../../src/run/paths/run-plan.js';
import {
  KIND,
  type Kind,
  type Operation,
  type Program,
  programsOf,
  type Slot,
} from './straggler-programs.js';

/**
 * A table of operations (the format of ByteDance's StragglerAnalysis) as a plan for our own replay of many ranks. A worker is
 * a pair of data-parallel rank and pipeline stage. Each worker of each step is one rank of the plan, so one replay plays all
 * steps.
 */

/** Communication. Its ideal time is the median, which ignores the rare slow transfer. The ideal of computing is the mean. */
const COMMUNICATES: ReadonlySet<Kind> = new Set([
  KIND.forwardSend,
  KIND.forwardRecv,
  KIND.backwardSend,
  KIND.backwardRecv,
  KIND.paramsAllGather,
  KIND.gradsReduceScatter,
  KIND.clipGrads,
  KIND.layernormAllReduce,
  KIND.embeddingAllReduce,
]);
/** A transfer that ends this many seconds before its last member starts has wrong times. Less is clock error. */
const IMPOSSIBLE = 0.01;

const keyOf = (o: Operation) => `${o.kind}/${o.stage}/${o.sequence}`;

export class StragglerJob {
  readonly operations: readonly Operation[];
  readonly steps: readonly number[];
  readonly stages: readonly number[];
  readonly dpRanks: readonly number[];
  /** Seconds that an operation takes without waiting: for a transfer, from the last start in its group to its end. */
  readonly own: ReadonlyMap<Operation, number>;
  /** Seconds, equal for all operations of a kind. */
  readonly ideal: ReadonlyMap<Kind, number>;
  readonly #programs: readonly Program[];
  readonly #workers: readonly Worker[];
  /** Operations that move data together, with the slot in which each worker waits. */
  readonly #groups: readonly (readonly Member[])[];

  constructor(operations: readonly Operation[]) {
    this.operations = operations;
    const sorted = (of: (o: Operation) => number) => [...new Set(operations.map(of))].sort((a, b) => a - b);
    this.steps = sorted((o) => o.step);
    this.stages = sorted((o) => o.stage);
    this.dpRanks = sorted((o) => o.dpRank);
    // All lanes have the same operations. The first one gives their order.
    const lanes = groupBy(operations, (o) => `${o.step}/${o.dpRank}`);
    this.#programs = programsOf(lanes.get(`${this.steps[0]}/${this.dpRanks[0]}`)!, this.stages);
    this.#workers = this.steps.flatMap((step) =>
      this.dpRanks.flatMap((dpRank) => {
        const byKey = new Map(lanes.get(`${step}/${dpRank}`)!.map((o) => [keyOf(o), o]));
        return this.#programs.map((program) => ({
          step,
          dpRank,
          program,
          operation: (template: Operation) => byKey.get(keyOf(template))!,
        }));
      }),
    );
    this.#groups = groupsOf(this.#workers);
    this.own = this.#ownTimes();
    const byKind = groupBy(operations, (o) => o.kind);
    this.ideal = new Map(
      [...byKind].map(([kind, all]) => {
        const times = Float64Array.from(all, (o) => this.own.get(o)!);
        return [kind, COMMUNICATES.has(kind) ? median(times) : mean(times)];
      }),
    );
  }

  #ownTimes(): Map<Operation, number> {
    const own = new Map(this.operations.map((o) => [o, Math.max(0, o.duration)]));
    for (const group of this.#groups) {
      const latest = largest(group.map(({ operation }) => operation.start));
      for (const { operation: o } of group) {
        const moving = o.start + o.duration - latest;
        own.set(o, moving <= -IMPOSSIBLE ? 0 : moving);
      }
    }
    return own;
  }

  /** The plan with some operations ideal and the others as recorded. */
  plan(isIdeal: (o: Operation) => boolean): RunPlan {
    const ns = (o: Operation) => 1e9 * (isIdeal(o) ? this.ideal.get(o.kind)! : this.own.get(o)!);
    const groups = this.#groups;
    const collectiveOf = new Map(
      groups.flatMap((group, k) => group.map((m) => [`${m.worker}/${m.slot}`, k] as const)),
    );
    const from = new Uint32Array(groups.length + 1);
    groups.forEach((group, k) => {
      from[k + 1] = from[k]! + group.length;
    });
    const members = groups.flat();
    return {
      ranks: this.#workers.map((worker, w) =>
        rankPlan(worker, ns, (slot) => collectiveOf.get(`${w}/${slot}`)!),
      ),
      members: {
        from,
        rank: Uint32Array.from(members, (m) => m.worker),
        // A member ends its own time after the last one has started. So they meet in a slot that takes no time,
        // and the member's own time is a slot behind it.
        slot: Uint32Array.from(members, (m) => 2 * m.slot),
      },
      transfer: new Float64Array(groups.length),
      transferAlone: new Float64Array(groups.length),
    };
  }

  /** Seconds of each step from what `playRun` returns: the slowest worker ends it. */
  stepTimes(workers: Float64Array): number[] {
    const perStep = this.stages.length * this.dpRanks.length;
    return this.steps.map((_, s) => largest(workers.subarray(s * perStep, (s + 1) * perStep)) / 1e9);
  }
}

interface Worker {
  readonly step: number;
  readonly dpRank: number;
  readonly program: Program;
  /** The worker's own operation for one of the program's. */
  readonly operation: (template: Operation) => Operation;
}

interface Member {
  readonly operation: Operation;
  readonly worker: number;
  readonly slot: number;
}

function groupsOf(workers: readonly Worker[]): readonly (readonly Member[])[] {
  const groups = new Map<string, Member[]>();
  workers.forEach(({ step, dpRank, program, operation }, worker) => {
    program.slots.forEach(({ group, operation: template }, slot) => {
      if (!group) return;
      const key = `${step}/${group.overDp ? 'all' : dpRank}/${group.id}`;
      const members = groups.get(key) ?? [];
      groups.set(key, members);
      members.push({ operation: operation(template), worker, slot });
    });
  });
  return [...groups.values()];
}

/** Two slots for each transfer: 2s, in which its members meet, and 2s + 1, its own time. */
function rankPlan(
  { program, operation }: Worker,
  ns: (o: Operation) => number,
  collectiveOf: (slot: number) => number,
): RankPlan {
  const { segments, slots } = program;
  const count = 2 * slots.length;
  const collective = new Int32Array(count).fill(-1);
  const duration = new Float64Array(count);
  const before = new Int32Array(count).fill(-1);
  slots.forEach((slot: Slot, s) => {
    if (slot.group) collective[2 * s] = collectiveOf(s);
    if (slot.before >= 0) before[2 * s] = 2 * slot.before + 1;
    before[2 * s + 1] = 2 * s;
    duration[2 * s + 1] = ns(operation(slot.operation));
  });
  const firstBehind = new Int32Array(count).fill(-1);
  const nextBehind = new Int32Array(count).fill(-1);
  for (let slot = count - 1; slot >= 0; slot--) {
    const awaited = before[slot]!;
    if (awaited < 0) continue;
    nextBehind[slot] = firstBehind[awaited]!;
    firstBehind[awaited] = slot;
  }
  const posted = segments.map((segment) => segment.posts.flatMap((s) => [2 * s, 2 * s + 1]));
  const firstSlot = new Uint32Array(segments.length + 1);
  posted.forEach((own, i) => {
    firstSlot[i + 1] = firstSlot[i]! + own.length;
  });
  return {
    begin: 0,
    length: segments.length,
    firstSegment: 0,
    duration: Float64Array.from(segments, ({ run }) => (run ? ns(operation(run)) : 0)),
    exposed: Uint8Array.from(segments, ({ wait }) => Number(wait >= 0)),
    release: Int32Array.from(segments, ({ wait }) => (wait >= 0 ? 2 * wait + 1 : -1)),
    tail: new Float64Array(segments.length),
    firstSlot,
    slotOrder: Uint32Array.from(posted.flat()),
    slots: {
      length: count,
      after: new Float64Array(count),
      collective,
      duration,
      alone: duration,
      before,
      firstBehind,
      nextBehind,
    },
  };
}
