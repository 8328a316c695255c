import { type Problem, ProblemLog } from '../base/problem.js';
import type { RankMember } from './member.js';

/** Where the rank of a file comes from. */
export type RankSource = 'file' | 'name' | 'order';

export interface RankedMember {
  readonly member: RankMember;
  readonly rank: number;
  readonly rankSource: RankSource;
}

/**
 * Gives every trace and log a rank: the one inside the file (distributedInfo, or the records of a log), else the one in its
 * name, else its number in the order of files. Doubts become problems. No file is dropped.
 */
export function assignRanks(members: readonly RankMember[]): {
  readonly ranked: readonly RankedMember[];
  readonly problems: readonly Problem[];
} {
  const problems = new ProblemLog();
  noteConflicts(members, problems);
  const taken = new Set(members.map((m) => m.identity.rank ?? m.hints.rank));
  let next = 0;
  const ranked = members.map((member): RankedMember => {
    const { identity, hints } = member;
    if (identity.rank !== null) return { member, rank: identity.rank, rankSource: 'file' };
    if (hints.rank !== null) return { member, rank: hints.rank, rankSource: 'name' };
    while (taken.has(next)) next++;
    return { member, rank: next++, rankSource: 'order' };
  });
  noteGuesses(ranked, problems);
  noteDuplicates(ranked, problems);
  return { ranked, problems: problems.list() };
}

function noteConflicts(members: readonly RankMember[], problems: ProblemLog): void {
  const conflicts = members.flatMap(({ path, identity: { rank: inFile }, hints: { rank: inName } }) =>
    inFile === null || inName === null || inFile === inName
      ? []
      : [`${path} says rank ${inFile} inside and rank ${inName} in its name`],
  );
  problems.addNamed('rank-conflict', conflicts, 'the rank inside the file is used');
}

function noteGuesses(ranked: readonly RankedMember[], problems: ProblemLog): void {
  const guessed = ranked.filter((r) => r.rankSource === 'order');
  if (ranked.length < 2 || guessed.length === 0) return;
  const message = `the rank is neither in the file nor in its name, e.g. ${guessed[0]!.member.path}`;
  problems.add(
    'rank-from-order',
    { message, consequence: 'ranks are numbered in the order of file names' },
    null,
    guessed.length,
  );
}

/** Two traces of one rank are no duplicates if they cover different steps. */
function noteDuplicates(ranked: readonly RankedMember[], problems: ProblemLog): void {
  const seen = new Map<string, RankedMember>();
  const twice: string[] = [];
  for (const r of ranked) {
    const key = `${r.member.kind} ${r.rank} ${r.member.hints.step ?? r.member.identity.window}`;
    const first = seen.get(key);
    if (!first) seen.set(key, r);
    else twice.push(`rank ${r.rank} appears twice: ${first.member.path} and ${r.member.path}`);
  }
  problems.addNamed('duplicate-rank', twice, 'both are used; pass the path of one to analyse only that');
}
