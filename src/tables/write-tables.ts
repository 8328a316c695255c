import { groupBy } from '../base/group-by.js';
import { ProblemLog } from '../base/problem.js';
import type { Diagnosis } from '../diagnosis/diagnosis.js';
import type { RankView } from '../diagnosis/ranks/rank-view.js';
import type { RankCollectives } from '../facts/rank-collectives.js';
import { isTraceMember } from '../ingest/member.js';
import type { ProgressSink } from '../ingest/pool.js';
import { readFile } from '../ingest/read-file.js';
import { Trace } from '../model/trace.js';
import type { Finding } from '../rules/kit/finding.js';
import type { Comparison } from '../run/compare.js';
import { waitsByStep } from '../run/table/step-waits.js';
import type { ParquetTable } from './parquet-table.js';
import { type RunClock, runClock } from './run-clock.js';
import { addCollectives, addFindings, addLogSteps, matchesOf } from './run-rows.js';
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
  const run = new RunContext(diagnosis);
  const [steps, collectives, found] = [sinkOf('steps'), sinkOf('collectives'), sinkOf('findings')];
  if (found) addFindings(findings, found);
  for (const view of run.views)
    if (steps && view.source === 'log') addLogSteps(view.rank, run.hostOf(view.rank), view.facts, steps);
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
  if (Object.values(sinks).some((sink) => sink !== null))
    await addTraces(run, diagnosis, sinks, problems, progress);
  return problems;
}

async function addTraces(
  run: RunContext,
  { members }: Diagnosis,
  sinks: RowSinks,
  problems: ProblemLog,
  progress: ProgressSink | undefined,
): Promise<void> {
  const traces = members.filter((m) => isTraceMember(m.member));
  const files = groupBy(traces, (m) => m.member.file);
  progress?.start(
    files.size,
    traces.reduce((n, m) => n + m.member.storedBytes, 0),
  );
  let done = 0;
  let read = 0;
  for (const [file, inFile] of files) {
    const result = await readFile(
      file,
      ({ path, content }) => {
        const ranked = inFile.find((m) => m.member.path === path);
        if (!ranked || (content.kind !== 'kineto' && content.kind !== 'nsys')) return;
        addTraceRows(new Trace(content.trace), run.originOf(ranked.rank), sinks);
      },
      (stored) => progress?.update(read + stored, done),
    );
    problems.addAll(result.problems.filter((p) => p.code === 'reading-failed'));
    read += result.storedBytes;
    done++;
  }
}

/** What the rows of a rank need from the run as a whole. */
class RunContext {
  readonly views: readonly RankView[];
  /** Ranks with collectives, in the order of the comparison. */
  readonly meeting: readonly RankView[];
  /** The comparison whose entries are those of the views. Null: ranks were not compared from these. */
  readonly comparison: Comparison | null;
  readonly #diagnosis: Diagnosis;
  readonly #collectives: ReadonlyMap<number, RankCollectives>;

  constructor(diagnosis: Diagnosis) {
    this.#diagnosis = diagnosis;
    this.views = diagnosis.views;
    this.meeting = diagnosis.views.filter((v) => v.facts.collectives !== null);
    this.#collectives = new Map(this.meeting.toReversed().map((v) => [v.rank, v.facts.collectives!]));
    // Ranks may have been compared from their logs, although they have traces.
    const isOfViews = ({ matched, waits }: Comparison) =>
      matched.ranks.length === this.meeting.length &&
      this.meeting.every(({ facts }, i) => waits.waitOf[i]!.length === facts.collectives!.length);
    const { comparison } = diagnosis;
    this.comparison = [comparison, comparison?.traced ?? null].find((c) => c && isOfViews(c)) ?? null;
  }

  hostOf(rank: number): string | null {
    return this.#diagnosis.locations.ranks.get(rank)?.host ?? null;
  }

  clockOf(rank: number): RunClock {
    return runClock(rank, this.comparison?.clocks ?? null, (r) => this.#collectives.get(r) ?? null);
  }

  originOf(rank: number): TraceOrigin {
    const index = this.meeting.findIndex((v) => v.rank === rank);
    const waitOf = this.comparison?.waits.waitOf[index];
    const waits = waitOf ? waitsByStep(this.meeting[index]!.facts.collectives!, waitOf) : null;
    return {
      rank,
      host: this.hostOf(rank),
      clock: this.clockOf(rank),
      waitShare: (step) => waits?.get(step)?.waitShare ?? 0,
    };
  }
}
