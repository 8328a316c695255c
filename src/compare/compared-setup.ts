import type { ComparedSetup } from './compare-report.js';
import type { RunProfile, Setup } from './run-profile.js';

export interface Sides {
  readonly before: readonly RunProfile[];
  readonly after: readonly RunProfile[];
}

const FIELDS = [
  ['device', 'device'],
  ['torch', 'torch'],
  ['worldSize', 'ranks'],
  ['batchSize', 'batch size'],
  ['command', 'command'],
] as const;

/** What the sides ran on. Left out: what neither of them recorded. */
export function comparedSetup({ before, after }: Sides): ComparedSetup[] {
  return FIELDS.map(([field, name]) => ({
    name,
    before: valuesOf(before, field),
    after: valuesOf(after, field),
  })).filter((s) => s.before !== null || s.after !== null);
}

function valuesOf(runs: readonly RunProfile[], field: keyof Setup): string | null {
  const known = new Set(runs.map(({ setup }) => setup[field]).filter((value) => value !== null));
  return known.size === 0 ? null : [...known].join(', ');
}
