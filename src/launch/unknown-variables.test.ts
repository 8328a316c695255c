import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { pythonPart } from './environment.js';
import { SETTINGS, unknownVariables } from './unknown-variables.js';

describe('variables that look like settings', () => {
  it('knows all settings of the Python part', () => {
    const config = readFileSync(join(pythonPart().source, 'whyslow_capture/config.py'), 'utf8');
    const [, trace, capture] = config.split(/^class (?:Trace|Capture)Config:$/m);
    const settings = (of: string) =>
      [...of.matchAll(/^ {4}(\w+): .* = _setting\(/gm)].map(([, name]) => name);
    expect(SETTINGS).toEqual([...settings(capture!), ...settings(trace!).map((name) => `trace.${name}`)]);
  });

  it('says nothing about settings, its own variables and those of others', () => {
    const names = [
      'WHYSLOW_RECORD_EVERY_N_STEPS',
      'WHYSLOW_TRACE',
      'WHYSLOW_TRACE_BUDGET_MB',
      'WHYSLOW_DEBUG',
    ];
    const env = Object.fromEntries(
      [...names, 'WHYSLOW_CONFIG', 'WHYSLOWER', 'PATH'].map((name) => [name, '1']),
    );
    expect(unknownVariables(env)).toEqual([]);
  });

  it.each([
    ['WHYSLOW_RECORD_EVERY_N_STEP', 'WHYSLOW_RECORD_EVERY_N_STEPS'],
    ['WHYSLOW_EVRY', 'WHYSLOW_RECORD_EVERY_N_STEPS or WHYSLOW_FLUSH_EVERY_N_STEPS'],
    ['WHYSLOW_TRCE_PERIOD', 'WHYSLOW_TRACE_PERIOD'],
    ['WHYSLOW_TRACE_WITH_STACKS', 'WHYSLOW_TRACE_WITH_STACK'],
  ])('names what %s may have meant', (name, meant) => {
    const told = `${name} is not a setting and has no effect (did you mean ${meant}?)`;
    expect(unknownVariables({ [name]: '1' })).toEqual([told]);
  });

  it('has no idea what WHYSLOW_XYZ meant', () => {
    expect(unknownVariables({ WHYSLOW_XYZ: '1' })).toEqual([
      'WHYSLOW_XYZ is not a setting and has no effect',
    ]);
  });
});
