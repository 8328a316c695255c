import { formatCount } from '../../base/units.js';
import type { CompiledFunction, FailedGuard, GuardKind } from '../../diagnosis/run-evidence.js';
import type { RunFacts } from '../../diagnosis/run-facts.js';
import { type Use, use } from '../../remedies/remedies.js';
import type { Evidence } from './finding.js';
import { threshold } from './rule.js';

/** What the log of torch.compile says about recompiles, in words. */

/** With automatic dynamic shapes one recompile per changing dimension is normal, and so is one per value of a flag. */
export const MANY = threshold(
  'recompiles of one function',
  3,
  'in the log',
  'one or two are normal at the start',
);

/** Functions that were compiled again often, or too often; the worst first. `rank` null: of all ranks. */
export function recompiled({ evidence }: RunFacts, rank: number | null): readonly CompiledFunction[] {
  return evidence.compiled
    .filter((f) => rank === null || f.rank === null || f.rank === rank)
    .filter((f) => f.limit !== null || f.recompiles >= MANY.value)
    .toSorted((a, b) => Number(b.limit !== null) - Number(a.limit !== null) || b.recompiles - a.recompiles);
}

/** A guard that takes many values costs many graphs; a flag costs two. */
const decisiveGuard = ({ guards }: CompiledFunction): FailedGuard | undefined =>
  guards.toSorted((a, b) => b.values.length - a.values.length || b.recompiles - a.recompiles)[0];

const MAX_FUNCTIONS = 3;
const MAX_OTHER_GUARDS = 2;

/** Which functions, and which of their guards failed. */
export function recompileEvidence(functions: readonly CompiledFunction[]): Evidence[] {
  return functions.slice(0, MAX_FUNCTIONS).flatMap((f) => {
    const decisive = decisiveGuard(f);
    const others = f.guards.filter((guard) => guard !== decisive).slice(0, MAX_OTHER_GUARDS);
    const first = functionText(f) + (decisive ? `; ${guardText(decisive, f)}` : '');
    return [
      lineOf(f, first, f.recompiles > 0 ? f.recompiles : null, 'recompiles'),
      ...others.map((guard) => lineOf(f, guardText(guard, f), null, null)),
    ];
  });
}

function lineOf(f: CompiledFunction, text: string, value: number | null, unit: string | null): Evidence {
  const known = value === null ? null : unit;
  return { text, value, unit: known, rank: f.rank, step: null, ts_ns: null, dur_ns: null };
}

function functionText({ name, file, line, recompiles, limit }: CompiledFunction): string {
  const again = recompiles > 0 ? ` was compiled again ${formatCount(recompiles, 'time')}` : '';
  const hit = limit ? ` reached ${limit.setting} (${limit.value}) and runs eagerly since` : '';
  return `the log says: ${name} (${file}:${line})${again}${again && hit ? ',' : ''}${hit}`;
}

const MAX_VALUES = 6;

function guardText(guard: FailedGuard, { recompiles }: CompiledFunction): string {
  const { values } = guard;
  const shown = values.slice(0, MAX_VALUES).join(', ') + (values.length > MAX_VALUES ? ', …' : '');
  const often = recompiles > 0 ? `, in ${guard.recompiles} of ${formatCount(recompiles, 'recompile')}` : '';
  return `failed guard: ${whatChanges(guard)}${shown && ` (${shown})`}${often}`;
}

const WHAT: Readonly<Record<GuardKind, (subject: string, guard: FailedGuard) => string>> = {
  size: (subject, { dimension }) => `the size of dimension ${dimension} of ${subject}`,
  value: (subject) => `the value of ${subject}`,
  dtype: (subject) => `the dtype of ${subject}`,
  rank: (subject) => `the number of dimensions of ${subject}`,
  'grad-mode': (subject) => (subject ? `whether ${subject} needs a gradient` : 'whether gradients are on'),
  length: (subject) => `the length of ${subject}`,
  object: (subject) => `which object ${subject || 'it'} is`,
  other: (_, { text }) => text,
};
const whatChanges = (guard: FailedGuard): string => WHAT[guard.kind](guard.subject, guard);

/** Names that fit a line of code. */
const inCode = (subject: string) => (/^[\w.]{1,20}$/.test(subject) ? subject : 'x');

/** The guard that decides. Undefined: the log names none. */
export function recompileRemedy(functions: readonly CompiledFunction[]): Use | undefined {
  const [worst] = functions;
  const guard = worst && decisiveGuard(worst);
  if (!worst || !guard) return undefined;
  return use('stable-guards', {
    guard: {
      kind: guard.kind,
      of: worst.name,
      changes: whatChanges(guard),
      name: inCode(guard.subject),
      dimension: guard.dimension,
      setting: worst.limit?.setting ?? 'recompile_limit',
      raised: 2 * Math.max(worst.limit?.value ?? 8, guard.values.length),
    },
  });
}
