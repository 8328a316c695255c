import { type CheckResult, found } from '../base/check.js';
import { median } from '../base/statistics.js';
import { formatCount } from '../base/units.js';
import { PROFILER_LEFT_ON, type StepRange } from '../facts/step-facts.js';
import type { EventLog, EventLogRun } from '../model/event-log.js';
import { roleOf } from './phases.js';

/** A step takes about 50 µs to analyze, and 5,000 are enough: with one in ten recorded they are a day or two of training. */
const MAX_STEPS = 5000;

interface KeptLog {
  readonly log: EventLog;
  readonly notes: readonly CheckResult[];
}

/** The steps of `range` (null: all) that no profiler disturbed, at most the last `most` of them. */
export function keepSteps(log: EventLog, range: StepRange | null, most = MAX_STEPS): KeptLog {
  const notes = new Map<string, CheckResult>();
  const note = (results: readonly CheckResult[]) => {
    for (const result of results) if (!notes.has(result.code)) notes.set(result.code, result);
  };
  const runs = log.runs.flatMap((run) => {
    const within = [...run.step.keys()].filter((row) => isWithin(run.step[row]!, range));
    const { counts, notes: aboutProfiler } = undisturbed(run, within);
    note(aboutProfiler);
    const rows = within.filter(counts);
    const steps = new Set(rows.map((row) => run.step[row]!));
    if (steps.size === 0) return [];
    if (rows.length === run.rows && steps.size <= most) return [run];
    if (steps.size <= most) return [selectRows(run, rows)];
    const from = Float64Array.from(steps).sort()[steps.size - most]!;
    note(onlyTheLast(most, steps.size));
    return [
      selectRows(
        run,
        rows.filter((row) => run.step[row]! >= from),
      ),
    ];
  });
  return { log: { runs }, notes: [...notes.values()] };
}

const onlyTheLast = (most: number, steps: number) =>
  found(
    'note',
    'long-log',
    1,
    `only the last ${most.toLocaleString('en')} of ${steps.toLocaleString('en')} recorded steps were analyzed`,
    '--steps A-B analyzes others',
  );

const isWithin = (step: number, range: StepRange | null) =>
  range === null || (step >= (range.first ?? step) && step <= (range.last ?? step));

export function selectSteps(run: EventLogRun, range: StepRange): EventLogRun {
  return selectRows(
    run,
    [...run.step.keys()].filter((row) => isWithin(run.step[row]!, range)),
  );
}

function selectRows(run: EventLogRun, rows: readonly number[]): EventLogRun {
  const select = <T extends Column>(column: T): T => pick(column, rows);
  const { outside } = run;
  const steps = new Set(rows.map((row) => run.step[row]!));
  const totals = [...outside.step.keys()].filter((row) => steps.has(outside.step[row]!));
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
    profiler: select(run.profiler),
    outside: {
      step: pick(outside.step, totals),
      rank: pick(outside.rank, totals),
      name: pick(outside.name, totals),
      ms: pick(outside.ms, totals),
    },
  };
}

type Column = Float64Array | Int32Array | Uint16Array | Uint8Array;

function pick<T extends Column>(column: T, rows: readonly number[]): T {
  const kept = new (column.constructor as new (length: number) => T)(rows.length);
  for (let i = 0; i < rows.length; i++) kept[i] = column[rows[i]!]!;
  return kept;
}

/** Fewer steps are not a measurement. */
const MEASURED = 3;
/** `EventLogRun.profiler`. */
const ATTACHED = 1;
const RECORDING = 2;

/** A profiler that records more of the steps is left on: nobody looks at them all. */
const MOST_STEPS = 0.5;

interface Undisturbed {
  /** Whether a row counts. */
  readonly counts: (row: number) => boolean;
  readonly notes: readonly CheckResult[];
}

/**
 * Steps that a profiler made slower do not count, unless there are hardly any others. A profiler that is only attached
 * disturbs less than one that records. `rows`: those to choose from.
 */
function undisturbed(run: EventLogRun, rows: readonly number[]): Undisturbed {
  const steps = [0, ATTACHED, RECORDING].map(
    (mark) => new Set(rows.filter((row) => run.profiler[row] === mark).map((row) => run.step[row]!)).size,
  );
  const [clean = 0, attached = 0, recording = 0] = steps;
  const most = clean >= MEASURED ? 0 : clean + attached >= MEASURED ? ATTACHED : RECORDING;
  const leftOut = (most < ATTACHED ? attached : 0) + (most < RECORDING ? recording : 0);
  return {
    counts: (row) => run.profiler[row]! <= most,
    notes: [
      ...found(
        'note',
        'profiled-steps',
        leftOut > 0 ? 1 : 0,
        `${formatCount(leftOut, 'step')} ran with a profiler attached or recording`,
        'left out, because the profiler makes steps slower',
      ),
      ...found(
        'warning',
        'step-with-profiler',
        most === 0 || attached + recording === 0 ? 0 : 1,
        `only ${formatCount(clean, 'step')} ran without a profiler`,
        'the others count too; a job that is limited by its host runs up to 1.7 times faster without one',
      ),
      ...found(
        'note',
        PROFILER_LEFT_ON,
        recording > MOST_STEPS * (clean + attached + recording) ? 1 : 0,
        `a profiler of the job recorded ${recording} of ${formatCount(clean + attached + recording, 'step')}`,
        'training is slower than it needs to be',
      ),
    ],
  };
}

/** A run this many times longer than its densely recorded head is judged by the rest. */
const LONGER = 4;
/** With fewer recorded steps in the rest, chance decides which of them waited, and the head is the better evidence. */
const ENOUGH_LATER = 20;
/** These are enough where the later steps are other steps: another model or batch size, a busier machine. */
const ENOUGH_OF_OTHERS = 5;
const OTHER_STEPS = 1.4;

/**
 * Capture records every one of the first steps, for the sake of short trials, and then one in ten. In a longer run the head
 * would count too much: it holds the warm-up, and most of the recorded steps.
 *
 * This chooses which steps count. step-periods.ts then chooses how to time them, and must not fall back to the head alone
 * where the head stays: it is the only place with consecutive steps.
 */
export function withoutDenseHead(log: EventLog): EventLog {
  return { runs: log.runs.map(withoutHead) };
}

function withoutHead(run: EventLogRun): EventLogRun {
  const dense = run.header?.denseSteps ?? 0;
  if (dense === 0 || run.rows === 0) return run;
  const first = run.step.reduce((a, b) => Math.min(a, b));
  const last = run.step.reduce((a, b) => Math.max(a, b));
  const from = first + dense;
  if (last - first < LONGER * dense) return run;
  // Steps with a profiler attached are no better evidence.
  const rest = new Set(run.step.filter((step, row) => step >= from && run.profiler[row] === 0));
  const enough = rest.size >= ENOUGH_LATER || (rest.size >= ENOUGH_OF_OTHERS && isUnlikeRest(run, from));
  return enough ? selectSteps(run, { first: from, last: null }) : run;
}

/** Medians, because the head holds the warm-up. */
function isUnlikeRest(run: EventLogRun, from: number): boolean {
  const lengths = (isHead: boolean) =>
    run.durationMs.filter(
      (_, row) =>
        run.step[row]! < from === isHead &&
        run.profiler[row] === 0 &&
        roleOf(run.names[run.name[row]!]!) === 'whole',
    );
  const ratio = median(lengths(true)) / median(lengths(false));
  return ratio > OTHER_STEPS || ratio < 1 / OTHER_STEPS;
}
