import { readFile } from 'node:fs/promises';
import { InputError } from '../base/input-error.js';
import { isOneEditAway } from '../base/one-edit.js';
import { printable } from '../base/printable.js';
import type { SpeedupInterval } from '../compare/step-times/step-comparison.js';
import { TRIALS, type Triable } from '../remedies/remedies.js';
import type { Protection } from './protect/protection.js';

/** What a trial does to keep the job's files as they are. */
const FILES: Readonly<Record<Protection['how'], string>> = {
  overlay:
    'the job reads your files, but all that it writes or deletes stays in a scratch folder, which is removed: nothing of yours changes',
  landlock:
    'this machine allows no mount namespace, so the kernel denies the job all writes outside of temporary folders (Landlock): nothing of yours changes, but a job that cannot save may fail',
  none: 'FILES ARE NOT PROTECTED (--unprotected): the job overwrites and deletes as it always does, once in every turn',
};

export const precautions = ({ how, network }: Protection): readonly string[] => [
  FILES[how],
  network
    ? 'trackers are offline (wandb, Comet, Neptune, ClearML, SwanLab, MLflow); other requests go out (--no-network stops them)'
    : 'the job reaches this machine only, and trackers are offline',
  'seeds are the same in every turn: the job’s own, or 0 where it sets none',
  'a turn ends after its last measured step: code that follows the training loop does not run',
];

/** Calls in a script that reach other machines. */
const REACHES: readonly (readonly [RegExp, string])[] = [
  [/\bpush_to_hub\b(?!\s*=\s*False)|\bupload_(?:file|folder)\(|\bboto3\b|\bstorage\.Client\(/, 'uploads'],
  [/\brequests\.(?:post|put|patch|delete)\(|\burlopen\(/, 'makes network requests'],
];
const MAX_FOUND = 8;

/** Lines of the script, if it is among the words of the command, that act on other machines. */
export async function reachesOf(command: readonly string[]): Promise<readonly string[]> {
  const script = command.find((word) => word.endsWith('.py'));
  const text = script ? await readFile(script, 'utf8').catch(() => '') : '';
  return text
    .split('\n')
    .flatMap((line, i) => {
      const code = line.replace(/(^|\s)#.*$/, '');
      const found = REACHES.find(([pattern]) => pattern.test(code));
      return found ? [printable(`${script}:${i + 1} ${found[1]}: ${code.trim().slice(0, 80)}`)] : [];
    })
    .slice(0, MAX_FOUND);
}

/** The fields of a finding that choose fixes. */
export interface Foretold {
  readonly id: string;
  readonly rule: string;
  readonly speedup: SpeedupInterval | null;
  readonly fix?: { readonly code: string };
  /** A larger fix that extends it. */
  readonly further?: { readonly id: string; readonly speedup: SpeedupInterval } | null;
}

/** Larger fixes that extend a finding answer for themselves. */
const withFurther = (findings: readonly Foretold[]): Foretold[] =>
  findings.flatMap((f) => (f.further ? [f, { ...f.further, rule: f.rule }] : [f]));

export interface PlannedFix {
  readonly fix: Triable;
  /** The finding that asked for it. Null: the user did. */
  readonly because: Foretold | null;
  readonly predicted: SpeedupInterval | null;
  /** The number that a finding advises. Null: none does. */
  readonly advised: number | null;
}

interface Wishes {
  readonly only?: readonly string[] | undefined;
  readonly all?: boolean | undefined;
}

/** Fixes in the order of the findings that ask for them: what a report says to do first is tried first. */
export function planFixes(
  reported: readonly Foretold[],
  { only, all = false }: Wishes,
): readonly PlannedFix[] {
  const findings = withFurther(reported);
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
  return { fix, because, predicted: answered?.speedup ?? null, advised: advisedBy(because, fix) };
}

/** Whatever framework spells the argument: `num_workers=8`, `dataloader_num_workers=8`. */
function advisedBy(finding: Foretold | null, { knob }: Triable): number | null {
  const argument = knob?.argument;
  const found = argument ? new RegExp(`${argument}=(\\d+)\\b`).exec(finding?.fix?.code ?? '') : null;
  return found && Number(found[1]) > 0 ? Math.min(Number(found[1]), knob!.most) : null;
}

function known(id: string): Triable {
  const found = TRIALS.find((fix) => fix.id === id);
  if (found) return found;
  const near = TRIALS.find((fix) => isOneEditAway(fix.id, id) || fix.id.includes(id));
  const hint = near ? `; did you mean ${near.id}?` : '';
  throw new InputError(`there is no fix "${id}"${hint} (whyslow try --list shows them)`);
}
