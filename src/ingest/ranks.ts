import { type Problem, ProblemLog } from '../base/problem.js';
import { type RankInput, traceSummaryOf } from './input.js';

/** Where the rank of a file comes from. */
export type RankSource = 'file' | 'name' | 'order';

/** A trace or log with the rank that it belongs to. */
export type RankedInput = RankInput & Ranked;

interface Ranked {
  readonly rank: number;
  readonly rankSource: RankSource;
  /** The same process recorded an earlier window, whose trace is not part of the analysis. */
  readonly hasEarlierWindow: boolean;
}

/**
 * Gives every trace and log a rank: the one inside the file (distributedInfo, or the records of a log), else the one in its
 * name, else its number in the order of files, where windows of one process share a number. Doubts become problems. No
 * file is dropped.
 */
export function assignRanks(members: readonly RankInput[]): {
  readonly ranked: readonly RankedInput[];
  readonly problems: readonly Problem[];
} {
  const problems = new ProblemLog();
  noteConflicts(members, problems);
  const taken = new Set(members.map((m) => m.identity.rank ?? m.hints.rank));
  let next = 0;
  const numbered = new Map<string, RankedInput[]>();
  const ranked = members.map((member): RankedInput => {
    const { identity, hints } = member;
    const given = (rank: number, rankSource: RankSource): RankedInput => ({
      ...member,
      rank,
      rankSource,
      hasEarlierWindow: false,
    });
    if (identity.rank !== null) return given(identity.rank, 'file');
    if (hints.rank !== null) return given(hints.rank, 'name');
    const key = processKey(member);
    const others = (key === null ? undefined : numbered.get(key)) ?? [];
    const same = others.slice(-MOST_ALIKE).find((other) => areWindowsOfOneProcess(member, other));
    if (same) return given(same.rank, 'order');
    while (taken.has(next)) next++;
    const own = given(next++, 'order');
    others.push(own);
    if (key !== null) numbered.set(key, others);
    return own;
  });
  noteGuesses(ranked, problems);
  noteDuplicates(ranked, problems);
  return { ranked, problems: problems.list() };
}

/** Processes with the same id that are compared with a trace: containers on as many hosts. */
const MOST_ALIKE = 256;

/** Ranks on different hosts may have the same process id, but TensorBoard's file names tell the hosts. */
function processKey(member: RankInput): string | null {
  const pid = traceSummaryOf(member)?.process.pid ?? null;
  return pid === null ? null : `${pid} ${traceSummaryOf(member)?.hostName ?? member.hints.host ?? ''}`;
}

/** In containers, ranks on different hosts may have the same process id. But they record at the same time. */
export function areWindowsOfOneProcess(a: RankInput, b: RankInput): boolean {
  if (processKey(a) === null || processKey(a) !== processKey(b)) return false;
  const [first, second] = [traceSummaryOf(a)?.window, traceSummaryOf(b)?.window];
  if (!first || !second) return false;
  if (first.startNs === null || first.endNs === null || second.startNs === null || second.endNs === null)
    return a.identity.window !== b.identity.window;
  return first.endNs <= second.startNs || second.endNs <= first.startNs;
}

function noteConflicts(members: readonly RankInput[], problems: ProblemLog): void {
  const conflicts = members.flatMap(({ path, identity: { rank: inFile }, hints: { rank: inName } }) =>
    inFile === null || inName === null || inFile === inName
      ? []
      : [`${path} says rank ${inFile} inside and rank ${inName} in its name`],
  );
  problems.addNamed('rank-conflict', conflicts, 'the rank inside the file is used');
}

function noteGuesses(ranked: readonly RankedInput[], problems: ProblemLog): void {
  const guessed = ranked.filter((r) => r.rankSource === 'order');
  if (new Set(ranked.map((r) => r.rank)).size < 2 || guessed.length === 0) return;
  const message = `the rank is neither in the file nor in its name, e.g. ${guessed[0]!.path}`;
  problems.add(
    'rank-from-order',
    { message, consequence: 'ranks are numbered in the order of files, and of the GPUs of their processes' },
    null,
    guessed.length,
  );
}

/** Two traces of one rank are no duplicates if they cover different steps, or one process recorded them in turn. */
export function noteDuplicates(ranked: readonly RankedInput[], problems: ProblemLog): void {
  const seen = new Map<string, RankedInput[]>();
  for (const r of ranked) {
    const key = `${r.kind} ${r.rank} ${r.hints.step ?? r.identity.window}`;
    const known = seen.get(key);
    if (!known) seen.set(key, [r]);
    else if (!areWindowsOfOneProcess(known[0]!, r)) known.push(r);
  }
  const several = [...seen.values()].filter((files) => files.length > 1);
  const messages = several.map(([first, second, ...more]) => {
    const others = more.length > 0 ? ` and ${more.length} more` : '';
    const files = `${first!.path}${others ? ', ' : ' and '}${second!.path}${others}`;
    return `rank ${first!.rank} is in ${more.length + 2} files: ${files}`;
  });
  problems.addNamed('duplicate-rank', messages, 'all are used; pass the path of one to analyze only that');
}
