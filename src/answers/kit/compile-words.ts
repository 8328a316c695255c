import { namedRanks } from '../../base/rank-ranges.js';
import { formatDuration, formatPercent, share, toSeconds } from '../../base/units.js';
import type { Compiling, FunctionCost, RankCompiling } from '../../diagnosis/compiling/compiling.js';
import type { Divergence } from '../../diagnosis/compiling/divergence.js';
import type { CompiledFunction, FailedGuard, GuardKind } from '../../diagnosis/run-evidence.js';

/** A guard that takes many values costs many graphs; a flag costs two. */
export const decisiveGuard = ({ guards }: CompiledFunction): FailedGuard | undefined =>
  guards.toSorted((a, b) => b.values.length - a.values.length || b.recompiles - a.recompiles)[0];

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
/** What a failed guard checks: `the size of dimension 1 of tokens`. */
export const whatChanges = (guard: FailedGuard): string => WHAT[guard.kind](guard.subject, guard);

/** `forward (train.py:14)`; what runs after a graph break is named by its line. */
export function compiledName({ name, file, line }: Pick<FunctionCost, 'name' | 'file' | 'line'>): string {
  const resumed = /^torch_dynamo_resume_in_(.+)_at_(\d+)$/.exec(name);
  if (resumed) return `${resumed[1]} after line ${resumed[2]} (${file}:${line})`;
  return name ? `${name} (${file}:${line})` : 'a function that the log does not name';
}

/** `compiling took 139 s of the first 147 s of the job`. */
export function compilingWords({ total, first, last, started, rank }: RankCompiling): string {
  const on = rank === null ? '' : ` on rank ${rank}`;
  const took = `compiling took ${formatDuration(toSeconds(total))}${on}`;
  if (started !== null)
    return `${took} of the first ${formatDuration(toSeconds(minus(last, started)))} of the job`;
  return `${took}, ${formatPercent(share(total / minus(last, first)))} of the ${formatDuration(toSeconds(minus(last, first)))} from the first compilation to the last`;
}

const minus = (end: RankCompiling['last'], start: RankCompiling['last']) => (end - start) as typeof end;

/** What took longest and who waits; sentences without a full stop. */
export function compilingDetails(
  { ranks, alone, earlier }: Compiling,
  compiled: readonly CompiledFunction[],
): readonly string[] {
  const [slowest] = ranks;
  return [
    ...(alone ? [aloneWords(alone)] : []),
    ...(slowest ? costliest(slowest, compiled) : []),
    ...(slowest?.functions.filter(notCompiled).slice(0, 1).map(failureWords) ?? []),
    ...(earlier > 0 ? ['The folder also has logs of earlier runs, which are left out'] : []),
  ];
}

function costliest(
  { functions, total, rank }: RankCompiling,
  compiled: readonly CompiledFunction[],
): string[] {
  const [most] = functions;
  if (!most || !(total > 0)) return [];
  const again = compiled.find(
    (f) => f.rank === rank && f.name === most.name && f.file === most.file && f.line === most.line,
  );
  const guard = again && decisiveGuard(again);
  const times = most.versions > 1 ? `, compiled ${most.versions} times` : '';
  const why = guard && times ? ` because ${whatChanges(guard)} changes` : '';
  return [`${formatPercent(share(most.total / total))} of it is ${compiledName(most)}${times}${why}`];
}

/** Reaching the limit of recompiles is no error of the compiler. */
const notCompiled = ({ failures }: FunctionCost): boolean => failures.some((f) => f !== 'Unsupported');
const failureWords = (f: FunctionCost): string =>
  `${compiledName(f)} could not be compiled (${f.failures.filter((x) => x !== 'Unsupported').join(', ')})`;

export const aloneWords = ({ rank, total }: NonNullable<Compiling['alone']>): string =>
  `Rank ${rank} compiled for ${formatDuration(toSeconds(total))} while most other ranks did not: they wait for it in their next collective`;

/** `ranks run different collectives in step (train.py:9): as number 4, all_reduce on rank 0 and nothing on rank 1`. */
export function divergenceWords({ calls, position, ...at }: Divergence): string {
  const each = calls.map(({ call, ranks }) => `${call ?? 'nothing'} on ${namedRanks(ranks)}`);
  return `ranks run different collectives in ${compiledName(at)} and can wait for each other forever: as number ${position}, ${each.join(', ')}`;
}
