import { type Problem, ProblemLog } from '../base/problem.js';
import type { EventLog, EventLogRun } from '../model/event-log.js';
import { logOf, manifestOf, type RankMember, traceSummaryOf } from './member.js';
import type { RankedMember } from './ranks.js';
import type { RunInputs } from './read-run.js';

/** A run that files name, and when it began: the latest that any of them says, ns since 1970; −∞ unknown. */
interface NamedRun {
  readonly id: string;
  began: number;
  records: number;
}

/** Clocks of machines differ, and a trace is written after it ended: only what ended so long before is older. */
const CLEARLY_BEFORE_NS = 60e9;

/**
 * Of files of several runs in one place those of the newest that has records, so that an earlier one with more ranks
 * does not lend it its leftovers. Traces do not name their run: those that ended before it began are of another.
 */
export function keepOneRun(inputs: RunInputs): RunInputs {
  const nameOf = runNames(inputs.members);
  const runs = namedRuns(inputs, nameOf);
  const told = newest(runs);
  if (!told) return inputs;
  const left: string[] = [];
  const isOther = (id: string | null) => id !== null && nameOf(id) !== told.id;
  const beside = inputs.beside.filter((m) => !isOther(manifestOf(m)?.run ?? null));
  if (beside.length < inputs.beside.length)
    left.push(count(inputs.beside.length - beside.length, 'manifest'));
  const logs = inputs.members.map((m) => withoutRuns(m, isOther));
  const withLogs = logs.filter((m) => m !== null);
  const dropped = inputs.members.filter((m, i) => logs[i] !== m).length;
  if (dropped > 0) left.push(`records of ${count(dropped, 'log')}`);
  const current = withLogs.filter((m) => !endedBefore(m.member, told.began - CLEARLY_BEFORE_NS));
  const members = current.length > 0 ? current : withLogs;
  if (members.length < withLogs.length) left.push(count(withLogs.length - members.length, 'trace'));
  if (left.length === 0) return inputs;
  return { ...inputs, members, beside, problems: [...inputs.problems, otherRun(told.id, runs, left)] };
}

/**
 * Ranks whose launcher gives them no common name may each have made one up. Logs of different ranks of as many, begun at
 * the same time, are of one run: it goes by the first one's name.
 */
function runNames(members: readonly RankedMember[]): (id: string) => string {
  const logged = new Map<string, { readonly ranks: Set<number>; readonly world: number; began: number }>();
  for (const { rank, member } of members) {
    for (const run of logOf(member)?.runs ?? []) {
      if (run.id === null) continue;
      const world = run.header?.fields.world_size;
      const one = logged.get(run.id) ?? { ranks: new Set(), world: Number(world ?? 0), began: Number.NaN };
      one.ranks.add(rank);
      one.began = firstAnchor(run) ?? one.began;
      logged.set(run.id, one);
    }
  }
  const names = new Map<string, string>();
  const found: (readonly [string, NonNullable<ReturnType<typeof logged.get>>])[] = [];
  for (const [id, one] of logged) {
    const same = found.find(
      ([, other]) =>
        one.world > 1 &&
        one.world === other.world &&
        Math.abs(one.began - other.began) < CLEARLY_BEFORE_NS &&
        [...one.ranks].every((rank) => !other.ranks.has(rank)),
    );
    names.set(id, same?.[0] ?? id);
    if (same) for (const rank of one.ranks) same[1].ranks.add(rank);
    else found.push([id, one]);
  }
  return (id) => names.get(id) ?? id;
}

function namedRuns({ members, beside }: RunInputs, nameOf: (id: string) => string): readonly NamedRun[] {
  const runs = new Map<string, NamedRun>();
  const note = (given: string | null, began: number | null, records: number) => {
    if (given === null) return;
    const id = nameOf(given);
    const run = runs.get(id) ?? { id, began: Number.NEGATIVE_INFINITY, records: 0 };
    run.began = Math.max(run.began, began ?? Number.NEGATIVE_INFINITY);
    run.records += records;
    runs.set(id, run);
  };
  for (const manifest of beside.map(manifestOf)) {
    if (manifest?.of === 'run') note(manifest.run, manifest.startedNs, 0);
    if (manifest?.of === 'rank') note(manifest.run, manifest.anchors[0]?.wallNs ?? null, 0);
  }
  for (const { member } of members)
    for (const run of logOf(member)?.runs ?? []) note(run.id, firstAnchor(run), run.rows);
  for (const { member } of members) {
    const during = [...runs.values()].filter((r) => !endedBefore(member, r.began - CLEARLY_BEFORE_NS));
    const run = during.reduce<NamedRun | null>((a, b) => (a && a.began > b.began ? a : b), null);
    if (traceSummaryOf(member) && run) run.records++;
  }
  return [...runs.values()];
}

/** In the header of an event log, which is kept as it was written. */
function firstAnchor(run: EventLogRun): number | null {
  const anchors = run.header?.fields.anchors;
  const first: unknown = Array.isArray(anchors) ? anchors[0] : null;
  const wall = (first as { wall_ns?: unknown } | null)?.wall_ns;
  return typeof wall === 'number' && Number.isFinite(wall) ? wall : null;
}

/** One that has just begun and recorded nothing yet says nothing. Without times the one that was named last. */
function newest(runs: readonly NamedRun[]): NamedRun | null {
  const recorded = runs.filter((r) => r.records > 0);
  const among = recorded.length > 0 ? recorded : runs;
  return among.reduce<NamedRun | null>((a, b) => (a === null || b.began >= a.began ? b : a), null);
}

/** Null when nothing is left of a log; the member itself when nothing was taken out. */
function withoutRuns(ranked: RankedMember, isOther: (id: string | null) => boolean): RankedMember | null {
  const { member } = ranked;
  if (member.kind !== 'events' || !member.log) return ranked;
  const kept = member.log.runs.filter((run) => !isOther(run.id));
  if (kept.length === member.log.runs.length) return ranked;
  const rest: EventLog = { ...member.log, runs: kept };
  return kept.some((run) => run.rows > 0) ? { ...ranked, member: { ...member, log: rest } } : null;
}

function endedBefore(member: RankMember, ns: number): boolean {
  const end = traceSummaryOf(member)?.window.endNs ?? null;
  return end !== null && Number(end) < ns;
}

function otherRun(told: string, runs: readonly NamedRun[], left: readonly string[]): Problem {
  const others = runs.filter((r) => r.id !== told).map((r) => r.id);
  const named = others.length > 0 ? ` (${others.slice(0, 3).join(', ')})` : '';
  const problems = new ProblemLog();
  problems.add(
    'other-run',
    {
      message: `files of another run${named} lie beside those of ${told}: ${left.join(', ')}`,
      consequence: `only ${told} is told; name the files of another to see it`,
    },
    null,
    left.length,
  );
  return problems.list()[0]!;
}

const count = (n: number, what: string) => `${n} ${what}${n === 1 ? '' : 's'}`;
