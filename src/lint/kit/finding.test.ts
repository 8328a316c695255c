import { expect, it } from 'vitest';
import { RULES } from '../../rules/rules.js';
import { RULE_NUMBERS } from './finding.js';

it('names rules of the knowledge base, with their numbers', () => {
  const known = new Map(RULES.map(({ info }) => [info.id, info.alias]));
  for (const [id, number] of Object.entries(RULE_NUMBERS)) expect([id, known.get(id)]).toEqual([id, number]);
});
