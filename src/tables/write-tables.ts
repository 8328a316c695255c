import type { Diagnosis } from '../answers/diagnosis.js';
import { groupBy } from '../base/group-by.js';
import { ProblemLog } from '../base/problem.js';
import { namedRanks } from '../base/rank-ranges.js';
import { type MatchedViews, matchedViews } from '../diagnosis/matched-views.js';
import { COLLECTIVE_KINDS, type RankCollectives } from '../facts/rank-collectives.js';
import type { RankFacts } from '../facts/rank-facts.js';
import { TIME_CLASSES } from '../facts/time-class.js';
import { isTraceInput } from '../ingest/input.js';
import type { ProgressSink } from '../ingest/pool.js';
import { readFile } from '../ingest/read-file.js';
import { Trace } from '../model/trace.js';
import type { Finding } from '../rules/kit/finding.js';
import { busFactor } from '../run/collectives/bandwidth.js';
import type { RunClock } from '../run/collectives/clocks.js';
import type { Comparison } from '../run/compare.js';
import { waitsByStep } from '../run/table/build-table.js';
import type { ParquetTable } from './parquet-table.js';
import type { TableName } from './schema.js';
import { addTraceRows, type RowSink, type RowSinks, type TraceOrigin } from './trace-rows.js';

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

/** Steps of a rank that has an event log or a facts file, but no trace. */
function addStepsOf(
  source: 'log' | 'facts',
  rank: number,
  host: string | null,
  facts: RankFacts,
  add: RowSink,
): void {
  facts.steps.indices.forEach((step, i) => {
    const time = facts.timePerStep[i];
    const head = [rank, host, step, source, null, facts.steps.periods[i]! / 1e6];
    add([...head, ...TIME_CLASSES.map((c) => (time ? time[c] / 1e6 : null)), null]);
  });
}

/** The collectives of one rank, and what the comparison of ranks says about each. */
function addCollectives(
  rank: number,
  c: RankCollectives,
  clock: RunClock,
  matches: RankMatches,
  add: RowSink,
): void {
  for (let i = 0; i < c.length; i++) {
    const group = c.groups[c.group[i]!]!;
    const kind = COLLECTIVE_KINDS[c.kind[i]!]!;
    const duration = c.end[i]! - c.start[i]!;
    const match = matches(i);
    const transfer = match && !Number.isNaN(match.wait) ? duration - match.wait : Number.NaN;
    // A byte per nanosecond is a GB/s.
    const speed = (busFactor(kind, group.size ?? Number.NaN) * c.bytes[i]!) / transfer;
    add([
      rank,
      c.steps[c.step[i]!] ?? null,
      c.timed ? clock.toRun(c.baseNs, c.start[i]!) : null,
      duration / 1e3,
      match?.collective ?? null,
      kind,
      group.name,
      group.size,
      c.sequence[i]!,
      c.peer[i]! < 0 ? null : c.peer[i]!,
      c.bytes[i]!,
      c.dtypes[c.dtype[i]!] || null,
      c.onDevice[i] === 1,
      c.exposed[i]! / 1e3,
      match ? match.wait / 1e3 : null,
      transfer / 1e3,
      match?.lateRank ?? null,
      speed,
    ]);
  }
}

interface Match {
  readonly collective: number;
  /** ns. NaN: not divided. */
  readonly wait: number;
  readonly lateRank: number | null;
}

/** What is known about an entry of a rank's collectives. Null: it has no partner. */
type RankMatches = (entry: number) => Match | null;

/** Looks up matches by the index of a rank in the comparison. */
function matchesOf(comparison: Comparison | null): (index: number) => RankMatches {
  if (!comparison) return () => () => null;
  const { matched, waits } = comparison;
  const instanceOf = waits.waitOf.map((entries) => new Int32Array(entries.length).fill(-1));
  for (let i = 0; i < matched.length; i++) {
    for (let m = matched.memberStart[i]!; m < matched.memberStart[i + 1]!; m++)
      instanceOf[matched.memberRank[m]!]![matched.memberEntry[m]!] = i;
  }
  return (index) => (entry) => {
    const collective = instanceOf[index]?.[entry] ?? -1;
    if (collective < 0) return null;
    const late = waits.late[collective]!;
    return { collective, wait: waits.waitOf[index]![entry]!, lateRank: matched.ranks[late] ?? null };
  };
}

function addFindings(findings: readonly Finding[], add: RowSink): void {
  findings.forEach((f, i) => {
    add([
      i + 1,
      f.rule,
      f.id,
      f.title,
      f.cost,
      f.risk,
      f.speedup?.low ?? null,
      f.speedup?.likely ?? null,
      f.speedup?.high ?? null,
      f.saving_ms,
      f.confidence,
      f.ranks.join(', '),
      f.evidence.map((e) => e.text).join('\n'),
      f.fix.text,
      f.fix.code,
    ]);
  });
}
