import { InputError } from '../base/input-error.js';
import { isOneEditAway } from '../base/one-edit.js';
import type { SpeedupInterval } from '../compare/step-times/step-comparison.js';
import { TRIALS, type Triable } from '../remedies/remedies.js';

/** The fields of a finding that choose fixes. */
export interface Foretold {
  readonly id: string;
  readonly rule: string;
  readonly speedup: SpeedupInterval | null;
}

export interface PlannedFix {
  readonly fix: Triable;
  /** The finding that asked for it. Null: the user did. */
  readonly because: Foretold | null;
  readonly predicted: SpeedupInterval | null;
}

interface Wishes {
  readonly only?: readonly string[] | undefined;
  readonly all?: boolean | undefined;
}

/** Fixes in the order of the findings that ask for them: what a report says to do first is tried first. */
export function planFixes(
  findings: readonly Foretold[],
  { only, all = false }: Wishes,
): readonly PlannedFix[] {
  if (only) return only.map((id) => planned(known(id), findings));
  const asked = findings.flatMap(({ id }) => [
    ...TRIALS.filter((fix) => fix.answers.includes(id)),
    ...TRIALS.filter((fix) => fix.alsoFor.includes(id)),
  ]);
  return [...new Set(all ? [...asked, ...TRIALS] : asked)].map((fix) => planned(fix, findings));
}

function planned(fix: Triable, findings: readonly Foretold[]): PlannedFix {
  const answered = findings.find(({ id }) => fix.answers.includes(id));
  const because = answered ?? findings.find(({ id }) => fix.alsoFor.includes(id)) ?? null;
  return { fix, because, predicted: answered?.speedup ?? null };
}

function known(id: string): Triable {
  const found = TRIALS.find((fix) => fix.id === id);
  if (found) return found;
  const near = TRIALS.find((fix) => isOneEditAway(fix.id, id) || fix.id.includes(id));
  const hint = near ? `; did you mean ${near.id}?` : '';
  throw new InputError(`there is no fix "${id}"${hint} (whyslow try --list shows them)`);
}
