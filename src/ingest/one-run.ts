import { ProblemLog } from '../base/problem.js';
import { formatCount } from '../base/units.js';
import { logOf, manifestOf, type RankMember, traceSummaryOf } from './member.js';
import type { RankedMember } from './ranks.js';
import type { RunInputs } from './read-run.js';

/** A run that files name. */
interface NamedRun {
  readonly id: string;
  /** The latest start that any file states, nanoseconds since 1970. −∞: unknown. */
  began: number;
  records: number;
}

/** Clocks of machines differ, so events closer together than this count as simultaneous. */
const CLOCK_TOLERANCE_NS = 60e9;

/**
 * Keeps the newest run that has records, if the files are of several runs: an earlier run with more ranks must not add its
 * leftovers. Traces do not name their run; those that ended before the kept run began are dropped.
 */
export function keepOneRun(inputs: RunInputs): RunInputs {
  const nameOf = commonNames(inputs.members);
  const runs = namedRuns(inputs, nameOf);
  const kept = newest(runs);
  if (!kept) return inputs;
  const isOther = (id: string | null) => id !== null && nameOf(id) !== kept.id;
  const beside = inputs.beside.filter((m) => !isOther(manifestOf(m)?.run ?? null));
  const withoutOthers = inputs.members.map((m) => withoutRuns(m, isOther));
  const changedLogs = inputs.members.filter((m, i) => withoutOthers[i] !== m).length;
  const named = withoutOthers.filter((m) => m !== null);
  const current = named.filter((m) => !endedBefore(m.member, kept));
  const members = current.length > 0 ? current : named;
  const dropped = [
    [inputs.beside.length - beside.length, 'manifest', ''],
    [changedLogs, 'log', 'records of '],
    [named.length - members.length, 'trace', ''],
  ] as const;
  const texts = dropped.flatMap(([n, what, prefix]) => (n > 0 ? [prefix + formatCount(n, what)] : []));
  if (texts.length === 0) return inputs;
  const problems = new ProblemLog();
  problems.addAll(inputs.problems);
  const others = runs.filter((r) => r !== kept).map((r) => r.id);
  const names = others.length > 0 ? ` (${others.slice(0, 3).join(', ')})` : '';
  problems.add(
    'other-run',
    {
      message: `some files belong to another run${names}: ${texts.join(', ')}`,
      consequence: `only run ${kept.id} was analysed; pass another run's files to analyse it`,
    },
    null,
    texts.length,
  );
  return { ...inputs, members, beside, problems: problems.list() };
}

interface LoggedRun {
  readonly id: string;
  readonly ranks: Set<number>;
  readonly worldSize: number;
  began: number;
}

/**
 * Without a run id from the launcher, each rank makes one up. Logs of different ranks with the same world size that began
 * at the same time are one run. It gets the id of the first of them.
 */
function commonNames(members: readonly RankedMember[]): (id: string) => string {
  const logged = new Map<string, LoggedRun>();
  for (const { rank, member } of members) {
    for (const run of logOf(member)?.runs ?? []) {
      const { id } = run;
      if (id === null) continue;
      const worldSize = run.header?.worldSize ?? 0;
      const one = logged.get(id) ?? { id, ranks: new Set(), worldSize, began: Number.NaN };
      one.ranks.add(rank);
      one.began = run.header?.startedNs ?? one.began;
      logged.set(id, one);
    }
  }
  const names = new Map<string, string>();
  // By world size and minute, so that each run is compared with few others.
  const distinct = new Map<string, LoggedRun[]>();
  const keyOf = ({ worldSize, began }: LoggedRun, minutes: number) =>
    `${worldSize} ${Math.floor(began / CLOCK_TOLERANCE_NS) + minutes}`;
  for (const run of logged.values()) {
    const near =
      run.worldSize > 1 ? [-1, 0, 1].flatMap((minutes) => distinct.get(keyOf(run, minutes)) ?? []) : [];
    const same = near.find((other) => isSameRun(run, other));
    names.set(run.id, same?.id ?? run.id);
    const alike = distinct.get(keyOf(run, 0)) ?? [];
    if (same) for (const rank of run.ranks) same.ranks.add(rank);
    else if (run.worldSize > 1) alike.push(run);
    distinct.set(keyOf(run, 0), alike);
  }
  return (id) => names.get(id) ?? id;
}

const isSameRun = (a: LoggedRun, b: LoggedRun) =>
  Math.abs(a.began - b.began) < CLOCK_TOLERANCE_NS && [...a.ranks].every((rank) => !b.ranks.has(rank));

function namedRuns({ members, beside }: RunInputs, nameOf: (id: string) => string): readonly NamedRun[] {
  const runs = new Map<string, NamedRun>();
  const add = (given: string | null, began: number | null, records: number) => {
    if (given === null) return;
    const id = nameOf(given);
    const run = runs.get(id) ?? { id, began: Number.NEGATIVE_INFINITY, records: 0 };
    run.began = Math.max(run.began, began ?? Number.NEGATIVE_INFINITY);
    run.records += records;
    runs.set(id, run);
  };
  for (const manifest of beside.map(manifestOf)) {
    if (manifest?.of === 'run') add(manifest.run, manifest.startedNs, 0);
    if (manifest?.of === 'rank') add(manifest.run, manifest.anchors[0]?.wallNs ?? null, 0);
  }
  for (const { member } of members)
    for (const run of logOf(member)?.runs ?? []) add(run.id, run.header?.startedNs ?? null, run.rows);
  // A trace counts for the newest run that it can belong to.
  for (const { member } of members) {
    if (!traceSummaryOf(member)) continue;
    const possible = [...runs.values()].filter((r) => !endedBefore(member, r));
    const run = possible.reduce<NamedRun | null>((a, b) => (a && a.began > b.began ? a : b), null);
    if (run) run.records++;
  }
  return [...runs.values()];
}

/** The newest run with records. Without start times: the one that was named last. */
function newest(runs: readonly NamedRun[]): NamedRun | null {
  const recorded = runs.filter((r) => r.records > 0);
  const candidates = recorded.length > 0 ? recorded : runs;
  return candidates.reduce<NamedRun | null>((a, b) => (a === null || b.began >= a.began ? b : a), null);
}

/** The member itself if nothing was removed. Null if nothing is left of a log. */
function withoutRuns(ranked: RankedMember, isOther: (id: string | null) => boolean): RankedMember | null {
  const { member } = ranked;
  if (member.kind !== 'events' || !member.log) return ranked;
  const runs = member.log.runs.filter((run) => !isOther(run.id));
  if (runs.length === member.log.runs.length) return ranked;
  if (runs.every((run) => run.rows === 0)) return null;
  return { ...ranked, member: { ...member, log: { ...member.log, runs } } };
}

function endedBefore(member: RankMember, { began }: NamedRun): boolean {
  const end = traceSummaryOf(member)?.window.endNs ?? null;
  return end !== null && Number(end) < began - CLOCK_TOLERANCE_NS;
}
