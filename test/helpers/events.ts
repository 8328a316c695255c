import type { Problem } from '../../src/base/problem.js';
import type { EventLogRun } from '../../src/model/event-log.js';
import { eventsReader } from '../../src/readers/events/descriptor.js';
import { readCut } from './readers.js';

/** For the tests of this folder. */
export interface Read {
  readonly runs: readonly EventLogRun[];
  readonly problems: readonly Problem[];
}

/** Reads a text or bytes in chunks, cut at the given positions. */
export function read(input: string | Uint8Array, cuts: readonly number[] = []): Read {
  const result = readCut(eventsReader, input, cuts);
  return { runs: result.log.runs, problems: result.problems };
}

/** `forward@3 r0 1.5` for each row of a run; `+start #micro clock host lag profiler` where known. */
export function draw(run: EventLogRun): string[] {
  return Array.from({ length: run.rows }, (_, i) => {
    const start = Number.isNaN(run.startMs[i]) ? '' : ` +${run.startMs[i]}`;
    const micro = run.micro[i]! < 0 ? '' : ` #${run.micro[i]}`;
    const clock = ['', ' gpu', ' host'][run.clock[i]!];
    const host = Number.isNaN(run.hostMs[i]) ? '' : ` host ${run.hostMs[i]}`;
    const lag = Number.isNaN(run.lagMs[i]) ? '' : ` lag ${run.lagMs[i]}`;
    const profiler = ['', ' attached', ' recording'][run.profiler[i]!];
    return `${run.names[run.name[i]!]}@${run.step[i]} r${run.rank[i]} ${run.durationMs[i]}${start}${micro}${clock}${host}${lag}${profiler}`;
  });
}

/** `code×count@line`, in order of first appearance. */
export function faults({ problems }: Read): string[] {
  return problems.map((p) => `${p.code}×${p.count}@${p.first?.at}`);
}

/** A record as lmms-engine writes it: Python's separators, four fields. */
export function row(name: string, step: number, ms: number | string = 1, more = '', rank = 0): string {
  return `{"name": ${JSON.stringify(name)}, "step": ${step}, "rank": ${rank}, "duration_ms": ${ms}${more}}`;
}
