import type { OperationTable } from '../model/operation-table.js';
import { KIND, type Kind } from './kinds.js';

/** A pipeline to draw. Durations in seconds; those of transfers count from when both sides are there. */
export interface Drawn {
  readonly dpRanks: number;
  readonly stages: number;
  readonly microbatches: number;
  readonly steps: readonly number[];
  readonly time: (
    kind: Kind,
    at: { readonly dpRank: number; readonly stage: number; readonly step: number; readonly sequence: number },
  ) => number;
}

export interface OperationRow {
  readonly kind: string;
  readonly dpRank: number;
  readonly stage: number;
  readonly step: number;
  readonly start: number;
  readonly duration: number;
  readonly sequence: number;
  readonly chunk?: number;
}

export function tableOf(rows: readonly OperationRow[], stages = 1): OperationTable {
  const kinds = [...new Set(rows.map((r) => r.kind))];
  const ints = (of: (r: OperationRow) => number) => Int32Array.from(rows, of);
  return {
    rows: rows.length,
    kinds,
    kind: Uint16Array.from(rows, (r) => kinds.indexOf(r.kind)),
    dpRank: ints((r) => r.dpRank),
    stage: ints((r) => r.stage),
    rank: ints((r) => r.dpRank * stages + r.stage),
    step: Float64Array.from(rows, (r) => r.step),
    start: Float64Array.from(rows, (r) => r.start),
    duration: Float64Array.from(rows, (r) => r.duration),
    sequence: ints((r) => r.sequence),
    chunk: ints((r) => r.chunk ?? 0),
    globalChunk: ints((r) => (r.chunk ?? 0) * stages + r.stage),
    microbatch: ints(() => -1),
  };
}

/** Order of one-forward-one-backward on a stage: warm-up, pairs, the rest of the backwards. */
function schedule(stage: number, stages: number, microbatches: number): readonly Kind[] {
  const warmUp = Math.min(stages - 1 - stage, microbatches);
  const order: Kind[] = new Array<Kind>(warmUp).fill(KIND.forward);
  for (let i = warmUp; i < microbatches; i++) order.push(KIND.forward, KIND.backward);
  return [...order, ...new Array<Kind>(warmUp).fill(KIND.backward)];
}

/**
 * Runs a pipeline without the graph: every stage follows its schedule and receives ahead of its computing, then reduces
 * gradients over data-parallel ranks, clips over all workers and updates.
 */
export function drawJob({ dpRanks, stages, microbatches, steps, time }: Drawn): OperationTable {
  const rows: OperationRow[] = [];
  for (const step of steps) {
    const done: number[][] = [];
    for (let dpRank = 0; dpRank < dpRanks; dpRank++) {
      const drawn = drawPipeline(stages, microbatches, (kind, stage, sequence) =>
        time(kind, { dpRank, stage, step, sequence }),
      );
      rows.push(...drawn.rows.map((row) => ({ ...row, dpRank, step })));
      done.push(drawn.done);
    }
    finishStep(rows, done, step, time);
  }
  return tableOf(rows, stages);
}

function drawPipeline(
  stages: number,
  microbatches: number,
  time: (kind: Kind, stage: number, sequence: number) => number,
) {
  const rows: Omit<OperationRow, 'dpRank' | 'step'>[] = [];
  const lanes = Array.from({ length: stages }, (_, stage) => ({
    order: schedule(stage, stages, microbatches),
    /** Ends of all computing, and of each kind; when the streams to and from neighbors are free. */
    ends: [] as number[],
    own: { [KIND.forward]: [] as number[], [KIND.backward]: [] as number[] },
    free: new Map<Kind, number>(),
  }));
  for (let left = stages * microbatches * 2; left > 0; ) {
    const before = left;
    lanes.forEach(({ order, ends, own, free }, stage) => {
      const kind = order[ends.length] as typeof KIND.forward | typeof KIND.backward | undefined;
      if (kind === undefined) return;
      const isForward = kind === KIND.forward;
      const [send, recv] = isForward
        ? [KIND.forwardSend, KIND.forwardRecv]
        : [KIND.backwardSend, KIND.backwardRecv];
      const sequence = own[kind].length;
      const sender = lanes[stage + (isForward ? -1 : 1)];
      let start = ends.at(-1) ?? 0;
      if (sender !== undefined) {
        const computed = sender.own[kind][sequence];
        if (computed === undefined) return;
        const warm = isForward ? 0 : (ends[order.indexOf(KIND.backward) - 2] ?? 0);
        const asked = Math.max(own[kind].at(-1) ?? warm, free.get(recv) ?? 0);
        const offered = Math.max(computed, sender.free.get(send) ?? 0);
        const end = Math.max(asked, offered) + time(recv, stage, sequence);
        rows.push({ kind: recv, stage, sequence, start: asked, duration: end - asked });
        const from = lanes.indexOf(sender);
        rows.push({ kind: send, stage: from, sequence, start: offered, duration: end - offered });
        free.set(recv, end);
        sender.free.set(send, end);
        start = Math.max(start, end);
      }
      const duration = time(kind, stage, sequence);
      rows.push({ kind, stage, sequence, start, duration });
      ends.push(start + duration);
      own[kind].push(start + duration);
      left--;
    });
    if (left === before) throw new Error('the schedule does not end');
  }
  return { rows, done: lanes.map(({ ends }) => ends.at(-1)!) };
}

function finishStep(
  rows: OperationRow[],
  done: readonly (readonly number[])[],
  step: number,
  time: Drawn['time'],
): void {
  const worker = (dpRank: number, stage: number) => ({ dpRank, stage, step, sequence: 0 });
  const stages = done[0]!.length;
  const reduced = done.map((now) => [...now]);
  for (let stage = 0; stage < stages; stage++) {
    const all = Math.max(...done.map((now) => now[stage]!));
    done.forEach((now, dpRank) => {
      const end = all + time(KIND.gradsReduceScatter, worker(dpRank, stage));
      const start = now[stage]!;
      rows.push({ kind: KIND.gradsReduceScatter, ...worker(dpRank, stage), start, duration: end - start });
      reduced[dpRank]![stage] = end;
    });
  }
  const all = Math.max(...reduced.flat());
  reduced.forEach((now, dpRank) => {
    now.forEach((start, stage) => {
      const here = worker(dpRank, stage);
      const end = all + time(KIND.clipGrads, here);
      rows.push({ kind: KIND.clipGrads, ...here, start, duration: end - start });
      rows.push({ kind: KIND.optimizer, ...here, start: end, duration: time(KIND.optimizer, here) });
    });
  });
}
