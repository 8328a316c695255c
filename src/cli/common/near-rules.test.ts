import { describe, expect, it } from 'vitest';
import { nearRules, ruleById } from './near-rules.js';

const RULES = [
  { id: 'T4', title: 'num_workers=0 loads every batch on the main thread' },
  { id: 'T14', title: 'attention by math' },
  { id: 'T23', title: 'collectives exposed' },
  { id: 'W4', title: 'garbage collection in the step' },
];
const near = (id: string) => nearRules(RULES, id).map((r) => r.id);

describe('finding a rule', () => {
  it('takes ids in any case', () => {
    expect(ruleById(RULES, 't14')?.id).toBe('T14');
    expect(ruleById(RULES, 'T9')).toBeUndefined();
  });

  it.each([
    ['T44', ['T4', 'T14']],
    ['4', ['T4', 'W4']],
    ['t24', ['T4', 'T14', 'T23']],
    ['num_workers', ['T4']],
    ['collect', ['T23', 'W4']],
    ['', []],
    ['zzzz', []],
  ])('%s is near %j', (id, expected) => {
    expect(near(id)).toEqual(expected);
  });
});
