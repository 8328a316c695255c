import type { RuleInfo } from '../../library/vocabulary.js';

const MAX_NEAR = 5;

/** The rule of this id, in any case of letters. */
export function ruleById<R extends Pick<RuleInfo, 'id'>>(rules: readonly R[], id: string): R | undefined {
  return rules.find((r) => r.id.toLowerCase() === id.toLowerCase());
}

/** Rules a mistyped id may have meant: one letter off, or a word of the title. */
export function nearRules<R extends Pick<RuleInfo, 'id' | 'title'>>(rules: readonly R[], id: string): R[] {
  const wanted = id.toLowerCase();
  const oneOff = rules.filter((r) => isOneEditAway(r.id.toLowerCase(), wanted));
  const titled = rules.filter((r) => wanted.length > 2 && r.title.toLowerCase().includes(wanted));
  return [...new Set([...oneOff, ...titled])].slice(0, MAX_NEAR);
}

/** One letter added, left out or replaced. */
function isOneEditAway(a: string, b: string): boolean {
  if (Math.abs(a.length - b.length) > 1) return false;
  let start = 0;
  while (start < a.length && a[start] === b[start]) start++;
  const skipA = a.length >= b.length ? 1 : 0;
  const skipB = b.length >= a.length ? 1 : 0;
  return a.slice(start + skipA) === b.slice(start + skipB);
}
