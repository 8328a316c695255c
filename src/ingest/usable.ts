import type { Problem } from '../base/problem.js';
import type { RankMember, RunMember, TaskMember } from './member.js';

/** A trace without events, or a log without records, is of no use. */
export function isUsable(member: TaskMember): member is RankMember | RunMember {
  if (member.kind === 'manifest') return member.manifest !== null;
  return member.kind !== 'unknown' && member.kind !== 'facts' && member.identity.events > 0;
}

/** What is known of a file that is of no use. */
interface Tried {
  readonly error: string | null;
  readonly members: readonly TaskMember[];
  readonly problems: readonly Problem[];
}

/** Inside a sentence, which it ends. */
export function whyNot(result: Tried): string {
  if (result.error !== null) return result.error;
  const member = result.members[0];
  if (!member) return reasons(result.problems) || 'the archive has no files in it';
  const why = reasons(member.problems);
  if (member.kind === 'unknown') return why === '' ? member.looksLike : `${member.looksLike}; ${why}`;
  return why || 'it has no events';
}

/** Messages inside a sentence, which ends them. */
const reasons = (problems: readonly Problem[]) =>
  problems.map((p) => p.message.replace(/\.$/, '')).join('; ');
