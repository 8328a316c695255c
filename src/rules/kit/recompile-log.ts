import { decisiveGuard, whatChanges } from '../../answers/kit/compile-words.js';
import { formatCount, formatDuration, toSeconds } from '../../base/units.js';
import type { Compiling } from '../../diagnosis/compiling/compiling.js';
import type { CompiledFunction, FailedGuard } from '../../diagnosis/run-evidence.js';
import type { RunFacts } from '../../diagnosis/run-facts.js';
import { type Use, use } from '../../remedies/remedies.js';
import { evidenceOf } from './evidence.js';
import type { Evidence } from './finding.js';
import { threshold } from './rule.js';

/** What the torch.compile log says about recompiles, in words. */

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

const MAX_FUNCTIONS = 3;
const MAX_OTHER_GUARDS = 2;

/** Which functions, which of their guards failed, and what compiling them took, if the log has times. */
export function recompileEvidence(
  functions: readonly CompiledFunction[],
  compiling: Compiling | null = null,
): Evidence[] {
  return functions.slice(0, MAX_FUNCTIONS).flatMap((f) => {
    const decisive = decisiveGuard(f);
    const others = f.guards.filter((guard) => guard !== decisive).slice(0, MAX_OTHER_GUARDS);
    const first = functionText(f) + (decisive ? `; ${guardText(decisive, f)}` : '');
    return [
      lineOf(f, first, f.recompiles > 0 ? f.recompiles : null, 'recompiles'),
      ...others.map((guard) => lineOf(f, guardText(guard, f), null, null)),
      ...costOf(f, compiling),
    ];
  });
}

function costOf(f: CompiledFunction, compiling: Compiling | null): Evidence[] {
  const ofRank = compiling?.ranks.find(({ rank }) => rank === f.rank);
  const cost = ofRank?.functions.find((c) => c.name === f.name && c.file === f.file && c.line === f.line);
  if (!cost) return [];
  const took = toSeconds(cost.total);
  const text = `compiling ${f.name} took ${formatDuration(took)} in ${formatCount(cost.versions, 'version')}`;
  return [lineOf(f, text, took, 's')];
}

function lineOf(f: CompiledFunction, text: string, value: number | null, unit: string | null): Evidence {
  return evidenceOf(f.rank, text, value, value === null ? null : unit);
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
