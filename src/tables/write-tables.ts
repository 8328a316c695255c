import type { Diagnosis } from '../answers/diagnosis.js';
import { groupBy } from '../base/group-by.js';
import { ProblemLog } from '../base/problem.js';
import { namedRanks } from '../base/rank-ranges.js';
import { type MatchedViews, matchedViews } from '../diagnosis/matched-views.js';
import { isTraceInput } from '../ingest/input.js';
import type { ProgressSink } from '../ingest/pool.js';
import { readFile } from '../ingest/read-file.js';
import { Trace } from '../model/trace.js';
import type { Finding } from '../rules/kit/finding.js';
import { waitsByStep } from '../run/table/build-table.js';
import type { ParquetTable } from './parquet-table.js';
import { addCollectives, addFindings, addStepsOf, matchesOf } from './run-rows.js';
import type { TableName } from './schema.js';
import { addTraceRows, type RowSinks, type TraceOrigin } from './trace-rows.js';

/** Tables by name. Those that are missing are not wanted. */
export type WantedTables = ReadonlyMap<TableName, ParquetTable>;

/** Fills the tables with a run. Traces are read again one by one, so that memory holds one at a time. */
export async function writeTables(
  tables: WantedTables,
  diagnosis: Diagnosis,
  findings: readonly Finding[],
  progress?: ProgressSink,
): Promise<ProblemLog> {
  const sinkOf = (name: TableName) => {
    const table = tables.get(name);
    return table ? (cells: Parameters<ParquetTable['add']>[0]) => table.add(cells) : null;
  };
  const problems = new ProblemLog();
  const run = matchedViews(diagnosis);
  const hostOf = (rank: number) => diagnosis.locations.ranks.get(rank)?.host ?? null;
  const [steps, collectives, found] = [sinkOf('steps'), sinkOf('collectives'), sinkOf('findings')];
  if (found) addFindings(findings, found);
  for (const view of diagnosis.views)
    if (steps && view.source === 'log') addStepsOf('log', view.rank, hostOf(view.rank), view.facts, steps);
  if (collectives) {
    const matches = matchesOf(run.comparison);
    run.meeting.forEach(({ rank, facts }, index) => {
      addCollectives(rank, facts.collectives!, run.clockOf(rank), matches(index), collectives);
    });
  }
  const sinks: RowSinks = {
    steps,
    kernels: sinkOf('kernels'),
    operators: sinkOf('operators'),
    gaps: sinkOf('gaps'),
  };
  if (Object.values(sinks).every((sink) => sink === null)) return problems;
  const origin = (rank: number) => originOf(rank, run, hostOf(rank));
  const inFacts = await addTraces(diagnosis, origin, sinks, problems, progress);
  for (const view of diagnosis.views)
    if (steps && view.source === 'trace' && inFacts.includes(view.rank))
      addStepsOf('facts', view.rank, hostOf(view.rank), view.facts, steps);
  if (inFacts.length > 0)
    problems.add('rows-not-in-facts', {
      message: `there are facts of ${namedRanks(inFacts)}, not traces`,
      consequence: 'without their kernels, operators and gaps; steps are those that `diagnose` uses',
    });
  return problems;
}

/** Returns the ranks that have facts instead of a trace. */
async function addTraces(
  { members }: Diagnosis,
  origin: (rank: number) => TraceOrigin,
  sinks: RowSinks,
  problems: ProblemLog,
  progress: ProgressSink | undefined,
): Promise<readonly number[]> {
  const traces = members.filter((m) => isTraceInput(m));
  const files = groupBy(traces, (m) => m.file);
  progress?.start(
    files.size,
    traces.reduce((n, m) => n + m.storedBytes, 0),
  );
  const inFacts: number[] = [];
  let done = 0;
  let read = 0;
  for (const [file, inFile] of files) {
    const result = await readFile(
      file,
      ({ path, content }) => {
        const ranked = inFile.find((m) => m.path === path);
        if (!ranked) return;
        if (content.of === 'facts') inFacts.push(ranked.rank);
        if (content.of !== 'trace') return;
        addTraceRows(new Trace(content.trace), origin(ranked.rank), sinks);
      },
      (stored) => progress?.update(read + stored, done),
    );
    problems.addAll(result.problems.filter((p) => p.code === 'reading-failed'));
    read += result.storedBytes;
    done++;
  }
  return inFacts;
}

/** What the rows of a trace need from the run as a whole. */
function originOf(
  rank: number,
  { meeting, comparison, clockOf }: MatchedViews,
  host: string | null,
): TraceOrigin {
  const index = meeting.findIndex((v) => v.rank === rank);
  const waitOf = comparison?.waits.waitOf[index];
  const waits = waitOf ? waitsByStep(meeting[index]!.facts.collectives!, waitOf) : null;
  return { rank, host, clock: clockOf(rank), waitShare: (step) => waits?.get(step)?.waitShare ?? 0 };
}
