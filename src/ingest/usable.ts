import type { Problem } from '../base/problem.js';
import { type Input, manifestOf, type RankInput, type RunInput } from './input.js';

/** A trace without events, or a log without records, is of no use. */
export function isUsable(member: Input): member is RankInput | RunInput {
  return member.of !== 'nothing' && (member.identity.events > 0 || manifestOf(member) !== null);
}

/** What is known of a file that is of no use. */
interface Tried {
  readonly error: string | null;
  readonly members: readonly Input[];
  readonly problems: readonly Problem[];
}

/** Inside a sentence, which it ends. */
export function whyNot(result: Tried): string {
  if (result.error !== null) return result.error;
  const member = result.members[0];
  if (!member) return reasons(result.problems) || 'the archive has no files in it';
  const why = reasons(member.problems);
  const parts = [member.of === 'nothing' ? (member.looksLike ?? '') : '', why].filter((text) => text !== '');
  return parts.join('; ') || 'it has no events';
}

/** Messages inside a sentence, which ends them. */
const reasons = (problems: readonly Problem[]) =>
  problems.map((p) => p.message.replace(/\.$/, '')).join('; ');
