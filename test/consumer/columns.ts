// The columns of traces, event logs and telemetry.
import { Category, type EventLogRun, isGpuWork, type Run, type RunTrace, readEvents, readRun } from 'whyslow';

export async function kernelTimes(path: string): Promise<Map<string, number>> {
  const run: Run = await readRun(path, { jobs: 1 });
  const times = new Map<string, number>();
  for (const { trace } of run.traces) {
    for (const row of trace.links.work) {
      if (trace.category(row) !== Category.kernel) continue;
      times.set(trace.name(row), (times.get(trace.name(row)) ?? 0) + (trace.data.dur[row] ?? 0));
    }
  }
  return times;
}

export const gpuRows = ({ trace }: RunTrace): number[] =>
  [...trace.links.work].filter((row) => isGpuWork(trace.category(row)));

export const firstEvents = (from: RunTrace) => readEvents(from, from.trace.data, [0, 1]);

export const logRuns = (run: Run): readonly EventLogRun[] => run.logs.flatMap(({ log }) => log.runs);

export const hosts = (run: Run): (string | null)[] => run.telemetry.map(({ host }) => host);
