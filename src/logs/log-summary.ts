import { groupBy } from '../base/group-by.js';
import { largest, median, smallest } from '../base/statistics.js';
import type { EventLog } from '../model/event-log.js';

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
