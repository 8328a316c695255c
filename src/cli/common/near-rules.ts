import { isOneEditAway } from '../../base/one-edit.js';
import type { RuleInfo } from '../../library/vocabulary.js';

const MAX_NEAR = 5;
/** Shorter words are in too many names. */
const LEAST_WORD = 4;

type Named = Pick<RuleInfo, 'id' | 'alias' | 'title'>;

/** The rule of this name, or all rules of this alias. In any case of letters. */
export function rulesNamed<R extends Named>(rules: readonly R[], name: string): R[] {
  const wanted = name.toLowerCase();
  return rules.filter((r) => namesOf(r).includes(wanted));
}

/** Rules that a mistyped name may have meant: one letter off, a part of the name, a word in common, words of the title. */
export function nearRules<R extends Named>(rules: readonly R[], name: string): R[] {
  const wanted = name.toLowerCase();
  const words = wanted.split(/[^a-z0-9]+/).filter((w) => w.length >= LEAST_WORD);
  const oneOff = rules.filter((r) => namesOf(r).some((known) => isOneEditAway(known, wanted)));
  const parts = rules.filter((r) => wanted.length > 2 && `${r.id} ${r.title}`.toLowerCase().includes(wanted));
  const common = rules.filter((r) => r.id.split('-').some((w) => words.includes(w)));
  return [...new Set([...oneOff, ...parts, ...common])].slice(0, MAX_NEAR);
}

const namesOf = ({ id, alias }: Named): string[] => [id, ...(alias ? [alias.toLowerCase()] : [])];
