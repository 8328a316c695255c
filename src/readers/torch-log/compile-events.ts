import type { ProblemText } from '../../base/problem.js';
import type {
  CompiledFunction,
  CompileLog,
  FailedGuard,
  GraphBreak,
  GuardKind,
  RecompileLimit,
} from '../../model/compile-log.js';
import { FaultCounter } from '../common/fault-counter.js';
import { MAX_TEXT } from '../common/fields.js';

interface GuardText {
  readonly kind: GuardKind;
  readonly subject: string;
  readonly dimension: number | null;
  readonly values: readonly string[];
  readonly text: string;
}

type Take = (match: RegExpExecArray) => Omit<GuardText, 'text' | 'subject'> & { readonly subject?: string };

const about = (kind: GuardKind, dimension: number | null = null, ...values: string[]) => ({
  kind,
  dimension,
  values,
});

/** Texts of failed guards as torch 2.1 to 2.13 write them. The first group is what the guard is about. */
const PATTERNS: readonly (readonly [RegExp, Take])[] = [
  [
    /^tensor '([^ ]{1,200})' size mismatch at index (\d{1,3})\. expected (-?\d{1,18}), actual (-?\d{1,18})/,
    (m) => about('size', Number(m[2]), m[3]!, m[4]!),
  ],
  [
    /^tensor '([^ ]{1,200})' rank mismatch\. expected (\d+), actual (\d+)/,
    (m) => about('rank', null, m[2]!, m[3]!),
  ],
  [
    /^tensor '([^ ]{1,200})' dtype mismatch\. expected (\w+), actual (\w+)/,
    (m) => about('dtype', null, m[2]!, m[3]!),
  ],
  [/^tensor '([^ ]{1,200})' requires_grad mismatch/, () => about('grad-mode')],
  [/^(?:GLOBAL_STATE changed: )?()grad_mode\b/, () => about('grad-mode')],
  [/^()torch\.is_grad_enabled\(\)/, () => about('grad-mode')],
  [
    /^([^ ]{1,200})\.size\(\)\[(\d{1,3})\] (?:==|!=|<=|<|>=|>) (\d{1,18})/,
    (m) => about('size', Number(m[2]), m[3]!),
  ],
  [/^\d{1,18} (?:<=|<) ([^ ]{1,200})\.size\(\)\[(\d{1,3})\]/, (m) => about('size', Number(m[2]))],
  [/^len\(([^ ]{1,200})\) == (\d{1,18})/, (m) => about('length', null, m[2]!)],
  [
    /^(?:___check_(?:obj|type)_id|___check_current_\w{1,40}|___dict_\w{1,40}|check_obj_id)\(([^ ,]{1,200})/,
    () => about('object'),
  ],
  [/^([^ ]{1,200}) is ([^ ]{1,60})/, () => about('object')],
  [/^([^ ]{1,200}) == (-?[^ ]{1,60})/, (m) => about('value', null, m[2]!)],
];

/** What a failed guard is about. The texts have no grammar: what is not known stays `other`, with its text. */
export function parseGuard(logged: string): GuardText {
  // A comment tells where in the source the guard comes from.
  const text = logged.replace(/\s{2,}#.*$/s, '').trim();
  for (const [pattern, take] of PATTERNS) {
    const match = pattern.exec(text);
    if (match) return { subject: plainName(match[1]!), ...take(match), text };
  }
  return { kind: 'other', subject: '', dimension: null, values: [], text };
}

/** `L['self'].scale` is `self.scale` in the code. */
function plainName(subject: string): string {
  return subject.replace(/\b[LG]\['([^']{1,100})'\]/g, '$1').replace(/\._modules\['([^']{1,100})'\]/g, '.$1');
}

/** More than a job has. */
const MAX_FUNCTIONS = 256;
const MAX_GUARDS = 32;
const MAX_VALUES = 64;
const MAX_BREAKS = 256;

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
interface GuardTotal extends Mutable<Omit<FailedGuard, 'values'>> {
  readonly values: Set<string>;
  /** Number of the last recompile that it was counted for: it fails for several cache entries at once. */
  countedFor: number;
}
interface FunctionTotal extends Mutable<Omit<CompiledFunction, 'guards'>> {
  readonly guards: Map<string, GuardTotal>;
}

/** What the last lines of one rank were about. */
interface Context {
  function: FunctionTotal | null;
  limit: RecompileLimit | null;
  graphBreak: Mutable<GraphBreak> | null;
}

const RECOMPILING = /^Recompiling function (.{1,200}) in (.{1,400}):(\d{1,9})$/;
/** One space after the dash: stack traces have more. */
const GUARD = /^\s{0,20}- (?:[-!\d/_]{3,30}: )?(?!User stack trace)(\S.*)$/;
const LIMIT = /^torch\._dynamo hit config\.(\w{1,60}) \((\d{1,9})\)/;
const LIMITED = /^\s{1,20}function: '(.{1,200})' \((.{1,400}):(\d{1,9})\)/;
const LAST_REASON = /^\s{1,20}last reason: (?:[-!\d/_]{3,30}: )?(.+)$/;
const BREAK = /^Graph break in user code at (.{1,400}):(\d{1,9})$/;
const BREAK_REASON = /^(?:Graph Break )?Reason: (.+)$/;

/** Collects recompiles, limits and graph breaks from the lines of a log, whose ranks may be mixed. */
export class CompileEvents {
  readonly #faults: TorchLogFaults;
  readonly #functions = new Map<string, FunctionTotal>();
  readonly #breaks = new Map<string, Mutable<GraphBreak>>();
  readonly #contexts = new Map<number | null, Context>();

  constructor(faults: TorchLogFaults) {
    this.#faults = faults;
  }

  line({ rank, text }: LogLine, at: number): void {
    const context = this.#contextOf(rank);
    let match = RECOMPILING.exec(text);
    if (match) {
      context.function = this.#functionOf(rank, match[1]!, match[2]!, Number(match[3]), at);
      if (context.function) context.function.recompiles++;
      return;
    }
    match = LIMIT.exec(text);
    if (match) {
      context.limit = { setting: match[1]!, value: Number(match[2]) };
      return;
    }
    match = LIMITED.exec(text);
    if (match && context.limit) {
      context.function = this.#functionOf(rank, match[1]!, match[2]!, Number(match[3]), at);
      if (context.function) context.function.limit = context.limit;
      context.limit = null;
      return;
    }
    match = BREAK.exec(text);
    if (match) {
      context.graphBreak = this.#breakOf(rank, match[1]!, Number(match[2]), at);
      return;
    }
    match = BREAK_REASON.exec(text);
    if (match && context.graphBreak) {
      context.graphBreak.reason ||= match[1]!.slice(0, MAX_TEXT);
      return;
    }
    match = LAST_REASON.exec(text) ?? GUARD.exec(text);
    if (match && context.function) this.#guard(context.function, parseGuard(match[1]!), at);
  }

  finish(): CompileLog {
    return {
      functions: [...this.#functions.values()].map((f) => ({
        rank: f.rank,
        name: f.name,
        file: f.file,
        line: f.line,
        recompiles: f.recompiles,
        limit: f.limit,
        guards: [...f.guards.values()]
          .sort((a, b) => b.recompiles - a.recompiles)
          .map(({ kind, subject, dimension, recompiles, values, text }) => ({
            kind,
            subject,
            dimension,
            recompiles,
            values: [...values],
            text,
          })),
      })),
      graphBreaks: [...this.#breaks.values()],
    };
  }

  #contextOf(rank: number | null): Context {
    let context = this.#contexts.get(rank);
    if (!context) {
      context = { function: null, limit: null, graphBreak: null };
      // Ranks that a broken prefix makes up must not fill the memory.
      if (this.#contexts.size < 1 << 16) this.#contexts.set(rank, context);
    }
    return context;
  }

  #functionOf(
    rank: number | null,
    name: string,
    file: string,
    line: number,
    at: number,
  ): FunctionTotal | null {
    const key = `${rank} ${name} ${file} ${line}`;
    const known = this.#functions.get(key);
    if (known) return known;
    if (this.#functions.size === MAX_FUNCTIONS) {
      this.#faults.add('too-many-functions', at);
      return null;
    }
    const added: FunctionTotal = { rank, name, file, line, recompiles: 0, limit: null, guards: new Map() };
    this.#functions.set(key, added);
    return added;
  }

  #guard(of: FunctionTotal, { kind, subject, dimension, values, text }: GuardText, at: number): void {
    const key = kind === 'other' ? text : `${kind} ${subject} ${dimension}`;
    let guard = of.guards.get(key);
    if (!guard) {
      if (of.guards.size === MAX_GUARDS) return this.#faults.add('too-many-guards', at);
      const clipped = text.slice(0, MAX_TEXT);
      guard = { kind, subject, dimension, recompiles: 0, values: new Set(), text: clipped, countedFor: -1 };
      of.guards.set(key, guard);
    }
    if (guard.countedFor !== of.recompiles) guard.recompiles++;
    guard.countedFor = of.recompiles;
    for (const value of values) if (guard.values.size < MAX_VALUES) guard.values.add(value);
  }

  #breakOf(rank: number | null, file: string, line: number, at: number): Mutable<GraphBreak> | null {
    const key = `${rank} ${file} ${line}`;
    const known = this.#breaks.get(key);
    if (known) known.count++;
    if (known) return known;
    if (this.#breaks.size === MAX_BREAKS) {
      this.#faults.add('too-many-breaks', at);
      return null;
    }
    const added = { rank, file, line, reason: '', count: 1 };
    this.#breaks.set(key, added);
    return added;
  }
}

/** Every fault this reader tolerates. Lines that are not torch's are the job's own output and no fault. */
const FAULTS = {
  'long-line': { message: 'A line is longer than 1 MiB.', consequence: 'The line is left out.' },
  'too-many-functions': {
    message: 'The log names more than 256 compiled functions.',
    consequence: 'Further ones are left out.',
  },
  'too-many-guards': {
    message: 'More than 32 different guards of one function failed.',
    consequence: 'Further ones are left out.',
  },
  'too-many-breaks': {
    message: 'The log names more than 256 graph breaks.',
    consequence: 'Further ones are left out.',
  },
} as const satisfies Record<string, ProblemText>;

type TorchLogFaults = FaultCounter<keyof typeof FAULTS>;
export const newTorchLogFaults = (): TorchLogFaults => new FaultCounter(FAULTS, 'line');

/** One line of torch's log without its prefix. */
interface LogLine {
  readonly rank: number | null;
  readonly text: string;
}

/**
 * `W1115 00:59:44.690000 402 torch/_dynamo/convert_frame.py:1743] [0/8] …` (torch 2.3 and newer). Launchers put the rank and
 * names of their own before it.
 */
const NEW =
  /^(.{0,100}?)[VDIWEC]\d{4} \d\d:\d\d:\d\d\.\d{3,9} \d{1,10} (?:\S{0,400}\/)?torch\/\S{1,200}:\d{1,6}\] ?(?:\[[-!\d/_]{3,30}\] ?)?(?:\[__\w{1,40}\] ?)?/;
/** `[2024-01-15 00:59:44,690] [0/8] torch._dynamo.convert_frame: [WARNING] …` (torch 2.1 and 2.2). */
const OLD =
  /^(.{0,100}?)\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] (?:\[[-!\d/_]{3,30}\] )?torch\.[\w.]{1,200}: \[[A-Z]{1,10}\] ?/;
const RANK = /\[(?:rank|default)(\d{1,6})\]:/;

/** Null: not a line of torch's log. */
export function parseLogLine(line: string): LogLine | null {
  const match = NEW.exec(line) ?? OLD.exec(line);
  if (!match) return null;
  const rank = RANK.exec(match[1]!)?.[1];
  return { rank: rank === undefined ? null : Number(rank), text: line.slice(match[0].length) };
}
