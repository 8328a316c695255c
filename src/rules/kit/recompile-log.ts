import { formatCount } from '../../base/units.js';
import type { CompiledFunction, FailedGuard, GuardKind } from '../../diagnosis/run-evidence.js';
import type { RunFacts } from '../../diagnosis/run-facts.js';
import type { Evidence, Finding } from './finding.js';
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

interface Advice {
  readonly text: string;
  readonly code: (name: string, guard: FailedGuard) => readonly string[];
}

const ADVICE: Readonly<Record<GuardKind, Advice>> = {
  size: {
    text: 'Pad or bucket it to a few sizes, or mark it dynamic.',
    code: (name, { dimension }) => [
      `${name} = pad_to_multiple(${name}, 256, dim=${dimension})  # few sizes`,
      `torch._dynamo.mark_dynamic(${name}, ${dimension})  # or: one graph for all`,
    ],
  },
  value: {
    text: 'Each value is compiled by itself. Pass it as a tensor, or keep it fixed.',
    code: (name) => [`${name} = torch.tensor(${name}, device="cuda")  # its value is no guard`],
  },
  dtype: {
    text: 'Cast it before the call, so that it is always the same.',
    code: (name) => [`${name} = ${name}.to(torch.bfloat16)  # before the compiled call`],
  },
  rank: {
    text: 'Give it the same number of dimensions in every call.',
    code: (name) => [`${name} = ${name}.unsqueeze(0)  # where a dimension is missing`],
  },
  'grad-mode': {
    text: 'Compile training and evaluation separately: each keeps its own graphs.',
    code: () => ['train_model = torch.compile(model)', 'eval_model = torch.compile(model)'],
  },
  length: {
    text: 'Stack the list to one tensor, or keep its length fixed.',
    code: (name) => [`${name} = torch.stack(${name})`],
  },
  object: {
    text: 'Create the object once, outside the step, and pass the same one in.',
    code: () => ['# move its construction in front of the training loop'],
  },
  other: {
    text: 'Keep what it checks from changing between calls.',
    code: () => ['TORCH_LOGS=recompiles python train.py      # all failed guards'],
  },
};

/** Advice on the guard that decides; undefined: the log names none. */
export function recompileFix(functions: readonly CompiledFunction[]): Finding['fix'] | undefined {
  const [worst] = functions;
  const guard = worst && decisiveGuard(worst);
  if (!worst || !guard) return undefined;
  const advice = ADVICE[guard.kind];
  const subject = whatChanges(guard);
  const changes =
    guard.kind === 'other'
      ? `A guard of ${worst.name} fails: ${subject}.`
      : `In ${worst.name}, ${subject} changes between calls.`;
  return {
    text: `${changes} ${advice.text} Raising the limit is the last resort.`,
    code: [...advice.code(inCode(guard.subject), guard), ...raisedLimit(worst, guard)].join('\n'),
  };
}

function raisedLimit({ limit }: CompiledFunction, { values }: FailedGuard): string[] {
  const setting = limit?.setting ?? 'recompile_limit';
  const least = Math.max(limit?.value ?? 8, values.length);
  return [`torch._dynamo.config.${setting} = ${2 * least}  # last resort`];
}
