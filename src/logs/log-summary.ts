import { median } from '../base/statistics.js';
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
      readonly medianMs: number;
    }[];
  }[];
}

export function summariseEventLog(log: EventLog): EventLogSummary {
  return {
    runs: log.runs.map((run) => {
      const byName = new Map<number, number[]>();
      let firstStep: number | null = null;
      let lastStep: number | null = null;
      for (let i = 0; i < run.rows; i++) {
        const durations = byName.get(run.name[i]!) ?? [];
        durations.push(run.durationMs[i]!);
        byName.set(run.name[i]!, durations);
        const step = run.step[i]!;
        if (firstStep === null || step < firstStep) firstStep = step;
        if (lastStep === null || step > lastStep) lastStep = step;
      }
      return {
        run: run.header?.run ?? null,
        ranks: [...new Set(run.rank)].sort((a, b) => a - b),
        records: run.rows,
        firstStep,
        lastStep,
        phases: [...byName].map(([id, ms]) => ({
          name: run.names[id]!,
          records: ms.length,
          medianMs: median(ms),
        })),
      };
    }),
  };
}
