import { type AnyRemedy, type ArgsOf, REMEDIES, type RemedyId } from './fixes/list.js';
import { FRAMEWORKS, type Framework, frameworkNamed, PLAIN_FRAMEWORK } from './frameworks.js';
import { blockOf, codeOf, settingsIn } from './kit/layout.js';
import type { Cost, Fix, Knob, Remedy, Risk, Spelled } from './kit/remedy.js';

/** A remedy and its arguments, as a finding names it. */
export interface Use {
  readonly id: RemedyId;
  readonly args: unknown;
}

export function use<Id extends RemedyId>(id: Id, args?: ArgsOf<Id>): Use {
  return { id, args: args ?? remedyNamed(id).usual };
}

/** What a finding takes from its remedy. */
export interface Advice {
  readonly fix: Fix;
  readonly cost: Cost | null;
  readonly risk: Risk;
}

/** `framework`: the one whose loop trains, as capture or lint names it. `inference`: the job only runs forward passes. */
export function advise({ id, args }: Use, framework?: string | null, inference = false): Advice {
  const { cost, risk, text, inference: forward } = remedyNamed(id);
  const own = frameworkNamed(framework);
  const spelled = inference && forward ? resolved(forward, args) : spell({ id, args }, own);
  return {
    fix: {
      text: spelled.text ?? resolved(text, args),
      code: codeOf([spelled], own).join('\n'),
    },
    cost: resolved(cost, args),
    risk: resolved(risk, args),
  };
}

/** What the description of a rule takes from its remedy. */
export function about<Id extends RemedyId>(id: Id) {
  const { fix, cost, risk } = advise(use(id));
  return { remedy: id, fix, check: remedyNamed(id).check, cost, risk } as const;
}

/** `Lightning: Trainer(..., benchmark=True).` for every framework with its own setting. Empty if none has one. */
export function elsewhere(id: RemedyId): string {
  return FRAMEWORKS.filter((f) => f !== PLAIN_FRAMEWORK && Object.hasOwn(f.spell, id))
    .map((f) => `${f.name}: ${advise(use(id), f.id).fix.code.replace(/\n */g, ' ')}.`)
    .join(' ');
}

/** The change and the reason in one line, for lists of faults: `persistent_workers=True. Keep the workers between epochs.` */
export function inOneLine(used: Use, framework?: string | null): string {
  const own = frameworkNamed(framework);
  const { set = {}, settings = [], atStart = [], lines: others = [] } = spell(used, own);
  const lines = [...atStart, ...others];
  const { text } = advise(used, framework).fix;
  const code = lines.filter((line) => !line.startsWith('#'));
  const inCalls = codeOf([{ set }], own).filter((line) => !line.startsWith('#'));
  const isShort = code.length <= 1 && settings.length + inCalls.length + code.length > 0;
  if (!isShort) return text;
  const short = [...settings, ...inCalls.map(argumentsOf), ...code.map((line) => line.replace(/ +#.*$/, ''))];
  return `${short.join(', ')}. ${text}`;
}

/** `DataLoader(..., pin_memory=True)` → `pin_memory=True`. */
const argumentsOf = (call: string): string =>
  (/\(\.\.\.,\s*(.*)\)$/s.exec(call)?.[1] ?? call).replace(/\n\s*/g, ' ');

/** Lines to paste for several remedies together. */
export const pasteLines = (uses: readonly Use[], framework: string): readonly string[] => {
  const own = frameworkNamed(framework);
  return codeOf(
    uses.map((used) => spell(used, own)),
    own,
  ).flatMap((block) => block.split('\n'));
};

/** What several remedies together change in a script, before it is laid out as code. */
export interface ScriptChange {
  /** Arguments of calls: `DataLoader`, `num_workers=8`. */
  readonly calls: readonly { readonly name: string; readonly settings: readonly string[] }[];
  readonly atStart: readonly string[];
  /** Lines for which no place is known. */
  readonly lines: readonly string[];
}

export function changeOf(uses: readonly Use[], framework: string): ScriptChange {
  const own = frameworkNamed(framework);
  const spelled = uses.map((used) => spell(used, own));
  const settings = settingsIn(spelled, own);
  return {
    calls: settings.flatMap(({ form, settings }) =>
      form.call === null ? [] : [{ name: form.call, settings }],
    ),
    atStart: spelled.flatMap(({ atStart = [] }) => atStart),
    lines: [
      ...spelled.flatMap(({ before = [] }) => before),
      ...settings.flatMap((found) => (found.form.call === null ? blockOf(found) : [])),
      ...spelled.flatMap(({ lines = [] }) => lines),
    ],
  };
}

function spell({ id, args }: Use, { spell: column }: Framework): Spelled {
  const own = column[id] as Remedy<string, unknown>['plain'] | undefined;
  return resolved(own ?? remedyNamed(id).plain, args);
}

const resolved = <Value>(given: Value | ((args: unknown) => Value), args: unknown): Value =>
  given instanceof Function ? given(args) : given;

const byId: ReadonlyMap<string, AnyRemedy> = new Map(REMEDIES.map((r) => [r.id, r]));
/** Arguments are checked where a remedy is named (`use`). */
const remedyNamed = (id: RemedyId) => byId.get(id) as unknown as Remedy<RemedyId, unknown>;

/** A remedy that `whyslow try` can apply. */
export interface Triable {
  readonly id: RemedyId;
  readonly title: string;
  readonly risk: Risk;
  readonly answers: readonly string[];
  readonly alsoFor: readonly string[];
  readonly group: string | null;
  readonly knob: Knob | null;
  /** `used`: the number that the trial used. */
  paste(used: number | 'N'): Use;
}

/** In the order in which `--all` tries them: cheap and harmless ones first. */
export const TRIALS: readonly Triable[] = REMEDIES.flatMap(({ id }) => {
  const { title, risk, usual, trial } = remedyNamed(id);
  if (!trial) return [];
  return [
    {
      id,
      title,
      risk: trial.risk ?? resolved(risk, usual),
      answers: trial.answers,
      alsoFor: trial.alsoFor ?? [],
      group: trial.group ?? null,
      knob: trial.knob ?? null,
      paste: (used) => ({ id, args: trial.args ? trial.args(used) : usual }),
    },
  ];
});
