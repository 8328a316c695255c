import { groupBy } from '../base/group-by.js';
import { largest, median, smallest } from '../base/statistics.js';
import { type Ns, ns } from '../base/units.js';
import type { PaceChange } from '../facts/job-time.js';
import type { RankCollectives } from '../facts/rank-collectives.js';
import type { PhaseKnowledge, RankFacts } from '../facts/rank-facts.js';
import type { EventLog } from '../model/event-log.js';
import type { EventFacts } from './event-facts.js';

/** Fewer steps are not a measurement. */
const MIN_STEPS = 3;
/** A trace that waits for input this share of a step needs a log with the wait in its step (XProf's input threshold). */
const INPUT_MATTERS = 0.05;

/**
 * The log that says how long a step of a rank's trace takes without the profiler; null when none can be trusted. The last
 * run counts, even when it is too short: an earlier one may have been another program. `traceInputWait`: ns per step that
 * the trace waits for input. A log whose step may leave out the input (lmms-engine's does) is not used for such a trace.
 */
export function unprofiledLog(
  facts: readonly EventFacts[],
  rank: number,
  traceInputWait = 0,
): EventFacts | null {
  const last = facts.filter((f) => f.rank === rank).at(-1) ?? onlyRank(facts, rank);
  // What a profiler recorded meanwhile is no measurement without one. The trace itself tells as much.
  if (!last || last.steps < MIN_STEPS || last.disturbedBy === 'recording') return null;
  if (!last.stepIsWhole && traceInputWait > INPUT_MATTERS * last.step) return null;
  return last;
}

/** Where either side does not know its rank: the only rank there is. */
function onlyRank(facts: readonly EventFacts[], rank: number): EventFacts | undefined {
  const ranks = new Set(facts.map((f) => f.rank));
  return ranks.size === 1 && (rank < 0 || ranks.has(-1)) ? facts.at(-1) : undefined;
}

/** One rank as its event log shows it, in the form that traces have too. */
export interface LogFacts extends RankFacts {
  readonly source: 'log';
  readonly phases: PhaseKnowledge;
  /** The steps became slower during the run. Null: they did not. */
  readonly change: PaceChange | null;
  /** ns per step between recorded steps, if all steps together set the step time. Else empty. */
  readonly paces: readonly Ns[];
  /** Phases by name, mean per recorded step. They may be nested. */
  readonly named: readonly { readonly name: string; readonly ns: Ns }[];
}

/** With a mean this many times the median, some steps take far longer than others. */
const IRREGULAR = 1.5;

/** `collectives`: recorded in the log, or found in the phases of all ranks. */
export function logFactsOf(log: EventFacts, collectives: RankCollectives | null): LogFacts {
  return {
    source: 'log',
    hasGpuWork: log.phases.some((p) => p.clock !== 'host'),
    steps: {
      source: 'profiler',
      total: log.steps,
      count: log.steps,
      first: log.first,
      last: log.last,
      irregular: log.step > IRREGULAR * log.medianStep,
      recorded: log.step,
      periods: log.periods,
      indices: log.indices,
    },
    time: log.time,
    timePerStep: log.timePerStep,
    copies: { toDevice: log.time.copy, toHost: ns(0) },
    collectives,
    timeline: log.timeline,
    phases: log.knowledge,
    change: log.change,
    paces: log.paces,
    named: log.phases.map(({ name, ns }) => ({ name, ns })),
  };
}

export interface EventLogSummary {
  readonly runs: readonly {
    readonly run: string | null;
    readonly ranks: readonly number[];
    readonly records: number;
    readonly firstStep: number | null;
    readonly lastStep: number | null;
    readonly phases: readonly {
      readonly name: string;
      readonly records: number;
      /** Null: no record has a duration. */
      readonly medianMs: number | null;
    }[];
  }[];
}

export function summarizeEventLog(log: EventLog): EventLogSummary {
  return {
    runs: log.runs.map((run) => {
      const byName = groupBy(run.name.keys(), (row) => run.name[row]!);
      return {
        run: run.header?.run ?? null,
        ranks: [...new Set(run.rank)].sort((a, b) => a - b),
        records: run.rows,
        firstStep: run.rows > 0 ? smallest(run.step) : null,
        lastStep: run.rows > 0 ? largest(run.step) : null,
        phases: [...byName].map(([id, rows]) => ({
          name: run.names[id]!,
          records: rows.length,
          medianMs: medianOrNull(rows.map((row) => run.durationMs[row]!).filter(Number.isFinite)),
        })),
      };
    }),
  };
}

const medianOrNull = (values: readonly number[]) => (values.length > 0 ? median(values) : null);
