import { dirname, sep } from 'node:path';
import { InputError } from '../base/input-error.js';
import { ProblemLog } from '../base/problem.js';
import { formatCount } from '../base/units.js';
import { logOf, manifestOf, type RankInput, traceSummaryOf } from './input.js';
import { noteDuplicates, type RankedInput } from './ranks.js';
import type { FoundRun, RunInputs } from './read-run.js';

interface NamedRun {
  readonly id: string;
  /** The latest start that any file states, nanoseconds since 1970. −∞: unknown. */
  began: number;
  command: string | null;
  readonly ranks: Set<number>;
  records: number;
}

/**
 * Clocks of machines differ: events closer together than this count as simultaneous, and a trace that ended this shortly before a
 * run began may still be of that run.
 */
const CLOCK_TOLERANCE_NS = 60e9;

/**
 * Keeps the wanted run if the files are of several, otherwise the newest that has records: an earlier run with more ranks
 * must not add its leftovers. Throws InputError when the wanted run is not there.
 */
export function keepOneRun(inputs: RunInputs, wanted: string | null = null): RunInputs {
  const nameOf = commonNames(inputs.members);
  const folders = runFolders(inputs);
  const runs = namedRuns(inputs, nameOf, folders);
  const kept = wanted === null ? newest(runs) : find(runs, wanted);
  if (!kept) return inputs;
  const isOther = (id: string | null) => id !== null && nameOf(id) !== kept.id;
  // Telemetry names no run, but may be in the folder of one.
  const runBeside = (m: RunInputs['beside'][number]) => {
    const manifest = manifestOf(m);
    return manifest ? manifest.run : runOfFolder(m.path, folders);
  };
  const beside = inputs.beside.filter((m) => !isOther(runBeside(m)));
  const withoutOthers = inputs.members.map((m) => withoutRuns(m, isOther));
  const changedLogs = inputs.members.filter((m, i) => withoutOthers[i] !== m).length;
  const named = withoutOthers.filter((m) => m !== null);
  const current = named.filter((member) => {
    if (isOther(runOfTrace(member, folders))) return false;
    // An earlier run of the same folder may have left it.
    return traceSummaryOf(member)?.run != null || !endedBefore(member, kept);
  });
  const members = current.length > 0 ? current : named;
  const found: readonly FoundRun[] = runs
    .filter((run) => run.records > 0 || run === kept)
    .sort((a, b) => a.began - b.began)
    .map((run) => ({
      id: run.id,
      command: run.command,
      startedNs: Number.isFinite(run.began) ? run.began : null,
      ranks: run.ranks.size,
      isAnalyzed: run === kept,
    }));
  const besideDropped = inputs.beside.filter((m) => !beside.includes(m));
  const manifests = besideDropped.filter((m) => manifestOf(m)).length;
  const dropped = [
    [manifests, 'manifest', ''],
    [besideDropped.length - manifests, 'telemetry file', ''],
    [changedLogs, 'log', 'records of '],
    [named.length - members.length, 'trace', ''],
  ] as const;
  const texts = dropped.flatMap(([n, what, prefix]) => (n > 0 ? [prefix + formatCount(n, what)] : []));
  if (texts.length === 0) return found.length > 0 ? { ...inputs, runs: found } : inputs;
  const problems = new ProblemLog();
  // Ranks that two runs have are no duplicates.
  problems.addAll(inputs.problems.filter((p) => p.code !== 'duplicate-rank'));
  if (inputs.problems.some((p) => p.code === 'duplicate-rank')) noteDuplicates(members, problems);
  const others = runs.filter((r) => r !== kept).map((r) => r.id);
  const names = others.length > 0 ? ` (${others.slice(0, 3).join(', ')})` : '';
  problems.add(
    'other-run',
    {
      message: `some files belong to another run${names}: ${texts.join(', ')}`,
      consequence: `only run ${kept.id} was analyzed; --run chooses another`,
    },
    null,
    texts.length,
  );
  return { ...inputs, members, beside, runs: found, problems: problems.list() };
}

function find(runs: readonly NamedRun[], wanted: string): NamedRun {
  const run = runs.find((r) => r.id === wanted);
  if (run) return run;
  const names = runs.map((r) => r.id);
  const known = names.length === 0 ? 'no file names its run' : `the runs here are ${names.join(', ')}`;
  throw new InputError(`there is no run ${wanted}; ${known}`);
}

/** By folder: the run whose run.json is there, if it is the only one. Everything below belongs to that run. */
type RunFolders = ReadonlyMap<string, string>;

function runFolders({ beside, members }: RunInputs): RunFolders {
  const folders = new Map<string, string>();
  for (const member of beside) {
    const manifest = manifestOf(member);
    if (manifest?.of === 'run' && manifest.run !== null) folders.set(dirname(member.path), manifest.run);
  }
  // A folder with one run.json may hold several runs, one after the other. Then it tells nothing.
  for (const member of members)
    for (const run of logOf(member)?.runs ?? []) {
      const folder = folderAbove(member.path, folders);
      if (folder !== null && run.id !== null && run.id !== folders.get(folder)) folders.delete(folder);
    }
  return folders;
}

function folderAbove(path: string, folders: RunFolders): string | null {
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    if (folders.has(folder)) return folder;
    if (folder === dirname(folder) || !folder.includes(sep)) return null;
  }
}

/** From its header, or from its folder. Null: neither tells. */
function runOfTrace(member: RankInput, folders: RunFolders): string | null {
  const summary = traceSummaryOf(member);
  return summary && (summary.run ?? runOfFolder(member.path, folders));
}

function runOfFolder(path: string, folders: RunFolders): string | null {
  const folder = folderAbove(path, folders);
  return folder === null ? null : folders.get(folder)!;
}

function namedRuns(
  { members, beside }: RunInputs,
  nameOf: (id: string) => string,
  folders: RunFolders,
): readonly NamedRun[] {
  const runs = new Map<string, NamedRun>();
  const add = (
    given: string | null,
    more: { began?: number | null; records?: number; rank?: number; command?: string | null },
  ) => {
    if (given === null) return;
    const id = nameOf(given);
    const run = runs.get(id) ?? {
      id,
      began: Number.NEGATIVE_INFINITY,
      command: null,
      ranks: new Set(),
      records: 0,
    };
    run.began = Math.max(run.began, more.began ?? Number.NEGATIVE_INFINITY);
    run.records += more.records ?? 0;
    run.command ??= more.command || null;
    if (more.rank !== undefined) run.ranks.add(more.rank);
    runs.set(id, run);
  };
  for (const manifest of beside.map(manifestOf)) {
    if (manifest?.of === 'run')
      add(manifest.run, { began: manifest.startedNs, command: manifest.command.join(' ') });
    if (manifest?.of === 'rank') add(manifest.run, { began: manifest.anchors[0]?.wallNs ?? null });
  }
  for (const member of members)
    for (const run of logOf(member)?.runs ?? [])
      add(run.id, {
        began: run.header?.startedNs ?? null,
        records: run.rows,
        rank: member.rank,
        command: run.header?.command ?? null,
      });
  // A trace that names no run counts for the newest run that it can belong to.
  for (const member of members) {
    if (!traceSummaryOf(member)) continue;
    const own = runOfTrace(member, folders);
    const possible = own !== null ? [] : [...runs.values()].filter((r) => !endedBefore(member, r));
    const guess = possible.reduce<NamedRun | null>((a, b) => (a && a.began > b.began ? a : b), null);
    add(own ?? guess?.id ?? null, { records: 1, rank: member.rank });
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
function withoutRuns(member: RankedInput, isOther: (id: string | null) => boolean): RankedInput | null {
  if (member.of !== 'log' || !member.log) return member;
  const runs = member.log.runs.filter((run) => !isOther(run.id));
  if (runs.length === member.log.runs.length) return member;
  if (runs.every((run) => run.rows === 0)) return null;
  return { ...member, log: { ...member.log, runs } };
}

function endedBefore(member: RankInput, { began }: NamedRun): boolean {
  const end = traceSummaryOf(member)?.window.endNs ?? null;
  // A trace that ended shortly before a run began may still be of that run.
  return end !== null && Number(end) < began - CLOCK_TOLERANCE_NS;
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
function commonNames(members: readonly RankedInput[]): (id: string) => string {
  const logged = new Map<string, LoggedRun>();
  for (const member of members) {
    for (const run of logOf(member)?.runs ?? []) {
      const { id } = run;
      if (id === null) continue;
      const worldSize = run.header?.worldSize ?? 0;
      const one = logged.get(id) ?? { id, ranks: new Set(), worldSize, began: Number.NaN };
      one.ranks.add(member.rank);
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
