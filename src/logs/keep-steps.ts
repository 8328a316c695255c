import { type CheckResult, found } from '../base/check.js';
import type { StepRange } from '../facts/step-facts.js';
import type { EventLog, EventLogRun } from '../model/event-log.js';

/** A step takes some 50 µs to analyse, and 5,000 are enough: with one in ten recorded they are a day or two of training. */
const MAX_STEPS = 5000;

interface KeptLog {
  readonly log: EventLog;
  readonly notes: readonly CheckResult[];
}

/** The steps of `range` (null: all), at most the last `most` of them. */
export function keepSteps(log: EventLog, range: StepRange | null, most = MAX_STEPS): KeptLog {
  let notes: readonly CheckResult[] = [];
  const runs = log.runs.flatMap((run) => {
    const steps = new Set<number>();
    for (const step of run.step) if (isWithin(step, range)) steps.add(step);
    if (steps.size === 0) return [];
    if (range === null && steps.size <= most) return [run];
    let from = range?.first ?? Number.NEGATIVE_INFINITY;
    if (steps.size > most) {
      from = Float64Array.from(steps).sort()[steps.size - most]!;
      if (notes.length === 0) notes = onlyTheLast(most, steps.size);
    }
    return [selectSteps(run, { first: from, last: range?.last ?? null })];
  });
  return { log: { runs }, notes };
}

const onlyTheLast = (most: number, steps: number) =>
  found(
    'note',
    'long-log',
    1,
    `only the last ${most.toLocaleString('en')} of ${steps.toLocaleString('en')} recorded steps were analysed`,
    '--steps A-B analyses others',
  );

const isWithin = (step: number, range: StepRange | null) =>
  range === null || (step >= (range.first ?? step) && step <= (range.last ?? step));

function selectSteps(run: EventLogRun, range: StepRange): EventLogRun {
  const rows = [...run.step.keys()].filter((row) => isWithin(run.step[row]!, range));
  const select = <T extends Float64Array | Int32Array | Uint16Array | Uint8Array>(column: T): T =>
    selectRows(column, rows);
  const { outside } = run;
  const totals = [...outside.step.keys()].filter((row) => isWithin(outside.step[row]!, range));
  return {
    ...run,
    rows: rows.length,
    name: select(run.name),
    step: select(run.step),
    rank: select(run.rank),
    micro: select(run.micro),
    durationMs: select(run.durationMs),
    startMs: select(run.startMs),
    clock: select(run.clock),
    hostMs: select(run.hostMs),
    lagMs: select(run.lagMs),
    outside: {
      step: selectRows(outside.step, totals),
      rank: selectRows(outside.rank, totals),
      name: selectRows(outside.name, totals),
      ms: selectRows(outside.ms, totals),
    },
  };
}

function selectRows<T extends Float64Array | Int32Array | Uint16Array | Uint8Array>(
  column: T,
  rows: readonly number[],
): T {
  const kept = new (column.constructor as new (length: number) => T)(rows.length);
  for (let i = 0; i < rows.length; i++) kept[i] = column[rows[i]!]!;
  return kept;
}
