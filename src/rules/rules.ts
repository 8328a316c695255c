import type { Rule } from './kit/rule.js';
import * as list from './list.js';

/** All rules in the order of the knowledge base: by letter and number of the alias, then by name; those without one last. */
export const RULES: readonly Rule[] = Object.values<Rule>(list).toSorted(
  (a, b) => orderOf(a) - orderOf(b) || (a.info.id < b.info.id ? -1 : 1),
);

function orderOf({ info: { alias } }: Rule): number {
  if (alias === null) return Number.POSITIVE_INFINITY;
  return alias.charCodeAt(0) * 1000 + Number(alias.slice(1));
}
