import { type CheckResult, found } from '../base/check.js';
import type { StepRange } from '../facts/step-facts.js';
import type { EventLog, EventLogRun } from '../model/event-log.js';

/** Each takes some 50 µs to look at, and 5,000 say all there is to say about a job: at one in ten that is a day or two. */
const MOST = 5000;

export interface KeptLog {
  readonly log: EventLog;
  readonly notes: readonly CheckResult[];
}

/** The steps asked for; of a long log the last ones. */
export function keepSteps(log: EventLog, range: StepRange | null, most = MOST): KeptLog {
  const notes: CheckResult[] = [];
  const runs = log.runs.flatMap((run) => {
    const steps = new Set<number>();
    for (const step of run.step) if (isWithin(step, range)) steps.add(step);
    if (steps.size === 0) return [];
    if (range === null && steps.size <= most) return [run];
    let from = range?.first ?? Number.NEGATIVE_INFINITY;
    if (steps.size > most) {
      from = Float64Array.from(steps).sort()[steps.size - most]!;
      notes.push(
        ...found(
          'note',
          'long-log',
          1,
          `of ${steps.size.toLocaleString('en')} recorded steps the last ${most.toLocaleString('en')} were looked at`,
          '--steps A-B looks at others',
        ),
      );
    }
    return [selectSteps(run, { first: from, last: range?.last ?? null })];
  });
  return { log: { runs }, notes: notes.slice(0, 1) };
}

const isWithin = (step: number, range: StepRange | null) =>
  range === null || (step >= (range.first ?? step) && step <= (range.last ?? step));

function selectSteps(run: EventLogRun, range: StepRange): EventLogRun {
  const rows: number[] = [];
  for (let row = 0; row < run.rows; row++) if (isWithin(run.step[row]!, range)) rows.push(row);
  const chosen = Uint32Array.from(rows);
  const select = <T extends Float64Array | Int32Array | Uint16Array | Uint8Array>(column: T): T => {
    const kept = new (column.constructor as new (length: number) => T)(chosen.length);
    for (let i = 0; i < chosen.length; i++) kept[i] = column[chosen[i]!]!;
    return kept;
  };
  return {
    ...run,
    rows: rows.length,
    ...{ name: select(run.name), step: select(run.step), rank: select(run.rank), micro: select(run.micro) },
    ...{ durationMs: select(run.durationMs), startMs: select(run.startMs), clock: select(run.clock) },
    ...{ hostMs: select(run.hostMs), lagMs: select(run.lagMs) },
  };
}
