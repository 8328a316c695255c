import { describe, expect, it } from 'vitest';
import { nearRules, rulesNamed } from './rules.js';

const RULES = [
  { id: 'num-workers-zero', alias: 'T4', title: 'num_workers=0 loads every batch on the main thread' },
  { id: 'unfused-attention', alias: 'T14', title: 'attention runs as separate operators' },
  { id: 'exposed-collectives', alias: 'T23', title: 'nothing hides communication' },
  { id: 'host-sync', alias: 'T23', title: 'the host reads values back' },
  { id: 'host-pause', alias: 'W4', title: 'garbage collection in the step' },
  { id: 'sorts-in-step', alias: null, title: 'the step sorts' },
];
const idsOf = (rules: readonly { id: string }[]) => rules.map((r) => r.id);

describe('rules by name', () => {
  it.each([
    ['T4', ['num-workers-zero']],
    ['t14', ['unfused-attention']],
    ['num-workers-zero', ['num-workers-zero']],
    ['Host-Sync', ['host-sync']],
    ['sorts-in-step', ['sorts-in-step']],
    ['T23', ['exposed-collectives', 'host-sync']],
    ['T9', []],
    ['null', []],
  ])('%s is %j', (name, expected) => {
    expect(idsOf(rulesNamed(RULES, name))).toEqual(expected);
  });
});

describe('rules near a name', () => {
  it.each([
    ['T44', ['num-workers-zero', 'unfused-attention']],
    ['4', ['num-workers-zero', 'host-pause']],
    ['t24', ['num-workers-zero', 'unfused-attention', 'exposed-collectives', 'host-sync']],
    ['num-worker-zero', ['num-workers-zero']],
    ['num-workers', ['num-workers-zero']],
    ['num_workers', ['num-workers-zero']],
    ['fused-attention-kernel', ['unfused-attention']],
    ['collect', ['exposed-collectives', 'host-pause']],
    ['', []],
    ['zzzz', []],
  ])('%s is near %j', (name, expected) => {
    expect(idsOf(nearRules(RULES, name))).toEqual(expected);
  });
});
