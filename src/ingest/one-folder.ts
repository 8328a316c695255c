import { dirname } from 'node:path';
import { groupBy } from '../base/group-by.js';
import { ProblemLog } from '../base/problem.js';
import { formatRanks } from '../base/rank-ranges.js';
import { formatCount } from '../base/units.js';
import { naturalOrder } from '../sources/discover.js';
import { rankFromPath } from '../sources/rank-name.js';
import { isTraceInput, type TraceInput, traceSummaryOf } from './input.js';
import type { RankedInput } from './ranks.js';
import type { RunInputs } from './read-run.js';

interface Folder {
  readonly path: string;
  readonly ranks: ReadonlySet<number>;
  /** Of the newest trace, nanoseconds since 1970. */
  readonly began: bigint;
}

/**
 * Keeps the traces of one folder where several hold the same steps of the same rank: nobody records these twice in one run,
 * and runs must not be mixed. It is the folder with the most ranks, and of those the newest; what is in the others is left
 * out with their traces. keepOneWindow handles folders of one run that are named by step.
 */
export function keepOneFolder(inputs: RunInputs): RunInputs {
  const traces = inputs.members.filter((m): m is RankedInput & TraceInput => isTraceInput(m));
  const isOfRun = (member: TraceInput) =>
    member.hints.step !== null || (member.summary?.run ?? null) !== null;
  if (traces.length < 2 || traces.some(isOfRun)) return inputs;
  const byFolder = groupBy(traces, ({ path }) => folderOf(path));
  if (byFolder.size < 2 || !areRepeated(traces)) return inputs;
  const folders = [...byFolder].map(
    ([path, own]): Folder => ({
      path,
      ranks: new Set(own.map((t) => t.rank)),
      began: own.reduce((latest, t) => later(latest, t.summary?.window.startNs ?? 0n), 0n),
    }),
  );
  const kept = folders.reduce((a, b) => (isBetter(b, a) ? b : a));
  const others = folders.filter((f) => f !== kept).map((f) => f.path);
  const isKept = (path: string) => isInside(path, kept.path) || !others.some((f) => isInside(path, f));
  const members = inputs.members.filter((m) => isKept(m.path));
  const problems = new ProblemLog();
  problems.addAll(inputs.problems.filter((p) => p.code !== 'duplicate-rank' || areRepeated(members)));
  problems.add('other-folder', {
    message: `the same steps are in ${formatCount(folders.length, 'folder')}, so these are several runs`,
    consequence: `only ${kept.path} was analyzed; pass the path of another to analyze that`,
  });
  return {
    ...inputs,
    members,
    beside: inputs.beside.filter((m) => isKept(m.path)),
    problems: problems.list(),
  };
}

/** In an archive, the folder in it: `runs.tar!a/rank0.json`. */
const folderOf = (path: string) => dirname(path.replace('!', '!/')).replace('!/', '!');
const isInside = (path: string, folder: string) => `${folderOf(path)}/`.startsWith(`${folder}/`);
const later = (a: bigint, b: bigint) => (b > a ? b : a);
const isBetter = (a: Folder, b: Folder) =>
  a.ranks.size === b.ranks.size ? a.began > b.began : a.ranks.size > b.ranks.size;

/** Whether a rank has the same steps in two folders. */
function areRepeated(members: readonly RankedInput[]): boolean {
  const traces = members.filter((m) => (traceSummaryOf(m)?.steps.length ?? 0) > 0);
  const places = groupBy(traces, ({ rank, identity }) => `${rank} ${identity.window}`);
  return [...places.values()].some((own) => new Set(own.map((t) => folderOf(t.path))).size > 1);
}

/** A file that could not be read on the machine that has it. */
export interface LostInput {
  readonly path: string;
  readonly why: string;
}

/** What became of files that were read on a cluster. */
export interface ReadElsewhere {
  readonly lost: readonly LostInput[];
  readonly ignored: readonly string[];
}

/** Names what is missing. The rest still gives an answer. */
export function withElsewhere(run: RunInputs, { lost, ignored }: ReadElsewhere): RunInputs {
  const inputs = { ...run, ignored: [...run.ignored, ...ignored.toSorted(naturalOrder)] };
  if (lost.length === 0) return inputs;
  const problems = new ProblemLog();
  problems.addAll(inputs.problems);
  const ranks = [...new Set(lost.flatMap(({ path }) => rankFromPath(path).rank ?? []))].sort((a, b) => a - b);
  const missing =
    ranks.length > 0
      ? `nothing is known of ${ranks.length > 1 ? 'ranks' : 'rank'} ${formatRanks(ranks)}`
      : 'left out';
  problems.addNamed(
    'lost-file',
    lost.map(({ path, why }) => `${path} could not be read on the cluster: ${why}`),
    missing,
  );
  return { ...inputs, problems: problems.list() };
}
