import type { FindingId } from './finding-ids.js';

/** What a fix costs to apply, cheapest first: a flag at start-up, an argument, an edit to the loop or model, a machine. */
export const COSTS = ['free', 'knob', 'code', 'hardware'] as const;
export type Cost = (typeof COSTS)[number];
/** What a fix may change besides speed. */
export const RISKS = ['none', 'numerics', 'memory', 'data'] as const;
export type Risk = (typeof RISKS)[number];

/** A fix as people read it: what to do, and what to paste. */
export interface Fix {
  readonly text: string;
  readonly code: string;
}

/** Python objects whose arguments frameworks pass on under names of their own. */
export type Target = 'DataLoader' | 'DDP' | 'FSDP';
/** Arguments and their values. A string is written as it is: `N`, `BackwardPrefetch.BACKWARD_PRE`. False: left out. */
export type Values = Readonly<Record<string, number | string | boolean>>;

/** The change, before it is laid out as code. */
export interface Spelled {
  /** Instead of the text of the remedy. */
  readonly text?: string;
  /** Lines that come before everything else. */
  readonly before?: readonly string[];
  /** Arguments of common objects. Each framework knows where it takes them. */
  readonly set?: Partial<Readonly<Record<Target, Values>>>;
  /** Settings of the framework itself, ready to paste: `bf16=True`. */
  readonly settings?: readonly string[];
  /** Lines that have their effect anywhere after `import torch`. */
  readonly atStart?: readonly string[];
  readonly lines?: readonly string[];
}

/** What `whyslow try` needs to apply a fix from outside. The Python part applies it by the id of the remedy. */
export interface Trial<Args> {
  /** Findings whose predicted gain is a prediction for this trial. */
  readonly answers: readonly FindingId[];
  /** Findings for which the trial is also worth running, without a prediction. */
  readonly alsoFor?: readonly FindingId[];
  /** Fixes of the same group exclude each other. */
  readonly group?: string;
  /** The trial may change more than the advice does. */
  readonly risk?: Risk;
  /** A number that a trial searches. */
  readonly knob?: Knob;
  /** What to paste. `used`: the number that the trial used, or `N`. */
  args?(used: number | 'N'): Args;
}

export interface Knob {
  /** The argument or variable, as advice and trials spell it. Null: no advice has the number that a trial searches. */
  readonly argument: string | null;
  /** Tried first if no advice has a number. `now`: what the job uses; 0 if it is unknown. */
  readonly start: (now: number) => number;
  /** Nothing larger is tried. */
  readonly most: number;
  /** Smaller numbers than the job's own may be faster. */
  readonly falls?: boolean;
}

/** One fix. A rule names it, with arguments, and prices it. */
export interface Remedy<Id extends string, Args> {
  readonly id: Id;
  /** What changes, in a few words: `more DataLoader workers, kept alive`. */
  readonly title: string;
  /** Null: it is no change, only where to look. */
  readonly cost: Cost | null | ((args: Args) => Cost);
  readonly risk: Risk | ((args: Args) => Risk);
  /** How to check that training still gives the right result. */
  readonly check: string;
  readonly text: string | ((args: Args) => string);
  /** For plain PyTorch, and for every framework that has no setting of its own for it. */
  readonly plain: Spelled | ((args: Args) => Spelled);
  /** Instead of `text` and `plain`, for a job that only runs forward passes: it has no loss, no optimizer, maybe no DataLoader. */
  readonly inference?: Spelled | ((args: Args) => Spelled);
  /** For lists of rules, where no job is known. */
  readonly usual: NoInfer<Args>;
  readonly trial?: Trial<NoInfer<Args>>;
}

export const remedy = <const Id extends string, Args = None>(given: Remedy<Id, Args>): Remedy<Id, Args> =>
  given;

/** Arguments of remedies that take none. */
export type None = Readonly<Record<string, never>>;
export const NONE: None = {};
