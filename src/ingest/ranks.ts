import { type Problem, ProblemLog } from '../base/problem.js';
import type { RankMember } from './member.js';

/** Where a rank was taken from. */
export type RankSource = 'file' | 'name' | 'order';

export interface RankedMember {
  readonly member: RankMember;
  readonly rank: number;
  readonly rankSource: RankSource;
}

/**
 * A rank for every trace and log: what the file says (distributedInfo, or the records of a log), else its name, else
 * its place in the order of files. Doubts are problems; nothing is dropped.
 */
export function assignRanks(members: readonly RankMember[]): {
  readonly ranked: readonly RankedMember[];
  readonly problems: readonly Problem[];
} {
  const problems = new ProblemLog();
  const said = members.map((m) => m.identity.rank);
  noteConflicts(members, said, problems);
  const taken = new Set(said.map((rank, i) => rank ?? members[i]!.hints.rank));
  let next = 0;
  const ranked = members.map((member, i): RankedMember => {
    const inFile = said[i] ?? null;
    if (inFile !== null) return { member, rank: inFile, rankSource: 'file' };
    if (member.hints.rank !== null) return { member, rank: member.hints.rank, rankSource: 'name' };
    while (taken.has(next)) next++;
    return { member, rank: next++, rankSource: 'order' };
  });
  noteGuesses(ranked, problems);
  noteDuplicates(ranked, problems);
  return { ranked, problems: problems.list() };
}

function noteConflicts(
  members: readonly RankMember[],
  said: readonly (number | null)[],
  problems: ProblemLog,
): void {
  const conflicts = members.flatMap((member, i) => {
    const inFile = said[i] ?? null;
    const { rank } = member.hints;
    if (inFile === null || rank === null || inFile === rank) return [];
    return [`${member.path} says rank ${inFile} inside and ${rank} in its name`];
  });
  problems.addNamed('rank-conflict', conflicts, 'the rank inside the file is used');
}

function noteGuesses(ranked: readonly RankedMember[], problems: ProblemLog): void {
  const guessed = ranked.filter((r) => r.rankSource === 'order');
  if (ranked.length < 2 || guessed.length === 0) return;
  const message = `neither the file nor its name says the rank, e.g. ${guessed[0]!.member.path}`;
  problems.add(
    'rank-from-order',
    { message, consequence: 'numbered in the order of names' },
    null,
    guessed.length,
  );
}

/** Two traces of one rank are fine when they are windows of different steps. */
function noteDuplicates(ranked: readonly RankedMember[], problems: ProblemLog): void {
  const seen = new Map<string, RankedMember>();
  const twice: string[] = [];
  for (const r of ranked) {
    const key = `${r.member.kind} ${r.rank} ${r.member.hints.step ?? r.member.identity.window}`;
    const first = seen.get(key);
    if (!first) seen.set(key, r);
    else twice.push(`rank ${r.rank} twice: ${first.member.path} and ${r.member.path}`);
  }
  problems.addNamed('duplicate-rank', twice, 'both are listed; say which with a path of its own');
}
