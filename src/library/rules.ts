import { InputError } from '../base/input-error.js';
import { isOneEditAway } from '../base/one-edit.js';
import type { RuleInfo } from '../rules/kit/rule.js';
import { RULES } from '../rules/rules.js';

/** The knowledge base: what is looked for, why it matters, the fix, its cost and risk. */
export const rules: readonly RuleInfo[] = RULES.map((rule) => rule.info);

/** All rules, or those of a name or a number. Throws InputError when there is none. */
export function chosenRules(name?: string): readonly RuleInfo[] {
  if (name === undefined) return rules;
  const chosen = rulesNamed(rules, name);
  if (chosen.length > 0) return chosen;
  const near = nearRules(rules, name).map((r) => (r.alias ? `${r.id} (${r.alias})` : r.id));
  const hint = near.length > 0 ? `Did you mean ${near.join(', ')}?` : '`whyslow rules` lists all.';
  throw new InputError(`there is no rule ${name}. ${hint}`);
}

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
