import type { Ns } from '../../base/units.js';
import type { RankView, TraceView } from '../../diagnosis/ranks/rank-view.js';
import type { RunFacts } from '../../diagnosis/run-facts.js';
import type { Bottleneck } from '../../facts/causes.js';
import type { RemedyId } from '../../remedies/fixes/list.js';
import type { FindingId } from '../../remedies/kit/finding-ids.js';
import type { Cost, Fix, Risk } from '../../remedies/kit/remedy.js';
import type { Use } from '../../remedies/remedies.js';
import type { Plan } from '../../replay/plan.js';
import type { Evidence, Speedup } from './finding.js';

/** A rule as data: what `whyslow rules ID` prints. */
export interface RuleInfo {
  /** Its name, e.g. `num-workers-zero`. Its file has the same name. */
  readonly id: string;
  /**
   * Its number in the knowledge base, e.g. `T4` (docs/adding-a-rule.md). Rules that fix parts of the same fault share one.
   * Null: it has none.
   */
  readonly alias: string | null;
  readonly title: string;
  /** What input it needs, e.g. `trace`, `trace or events`. */
  readonly needs: string;
  /** What must be seen for it to fire. */
  readonly looksFor: string;
  readonly why: string;
  /** The fix that it recommends, with its usual arguments. `about(id)` fills in this field and the next four. */
  readonly remedy: RemedyId;
  readonly fix: Fix;
  /** How to check that training still gives the right result after the fix. */
  readonly check: string;
  /** What else is good to know; only `whyslow rules` prints it. */
  readonly more?: string;
  readonly cost: Cost | null;
  readonly risk: Risk;
  readonly thresholds: readonly Threshold[];
}

/** A number that a rule decides by. It is written once: `whyslow rules` prints it and the check uses `value`. */
export interface Threshold<Value extends number = number> {
  readonly name: string;
  /** In `unit`. */
  readonly value: Value;
  readonly unit: string;
  /** Where the number comes from: a measurement, a paper, another tool. */
  readonly source: string;
}

/** `threshold('input wait', share(0.05), 'of the step', 'XProf: 5%')`. */
export function threshold<Value extends number>(
  name: string,
  value: Value,
  unit: string,
  source: string,
): Threshold<Value> {
  return { name, value, unit, source };
}

/** The source of thresholds that keep small gains out. */
export const WITHIN_NOISE = 'below it the gain is within noise';

/**
 * A rule looks at one rank and either finds something or gives the reason why it does not apply. `reads` names its input: most
 * rules need a trace, and are not asked about ranks that only have an event log. Some read only other evidence (compile logs,
 * stacks, dumps), and are asked once, even if no rank was recorded. A rule never throws on purpose; one that does becomes a
 * problem in the report.
 */
export type Rule = TraceRule | AnyRule | RunRule;

export interface TraceRule extends RuleBase {
  readonly reads: 'traces';
  check(view: TraceView, run: RunFacts): RuleResult;
}

export interface AnyRule extends RuleBase {
  readonly reads: 'traces and logs';
  check(view: RankView, run: RunFacts): RuleResult;
}

export interface RunRule extends RuleBase {
  readonly reads: 'run';
  check(run: RunFacts): RuleResult;
}

interface RuleBase {
  readonly info: RuleInfo;
  /** Its findings count without a price too: the replay is not faithful, or there is nothing to replay. */
  readonly unpriced?: 'allowed';
  /** Its findings count even if the gain is small: the fault is worth naming by itself. */
  readonly smallGain?: 'allowed';
  /**
   * Id of the smaller fix that this one extends (compile → compile with CUDA graphs). Together they are one finding with two levels,
   * ranked by the better gain.
   */
  readonly furtherThan?: FindingId;
  /** Its findings come before those that address the bottleneck: all other ranks wait for this one. */
  readonly comesFirst?: true;
  /** Its finding is about what every step does, so one step is not enough to see it: start-up looks the same. */
  readonly recurs?: true;
  /** Its advice also fits an engine that serves a model: it is about measuring, ranks or kernels, not about a training loop. */
  readonly servesToo?: true;
  /** Its advice is about gradients or sharded parameters, so it fits only a job that trains. */
  readonly trainsOnly?: true;
  /** Which sampled lines of the job show the fault: matched against the line's source and the library calls in it. */
  readonly lines?: RegExp;
}

export type RuleResult = Silent | { readonly findings: readonly RankFinding[] };
/** Why it does not apply: one clause. */
export interface Silent {
  readonly silent: string;
}

export const silent = (reason: string): Silent => ({ silent: reason });
export const found = (...findings: readonly RankFinding[]): RuleResult => ({ findings });

/** How the uncertain parts of a fix turn out: worse than expected, as expected, better. */
export type Level = 'low' | 'likely' | 'high';
/** A constant of a price, with its uncertainty. */
export type Levels = Readonly<Record<Level, number>>;
/** A fix as a change of the plan, which is then replayed. */
export type Edit = (plan: Plan, level: Level) => void;

/** A finding on one rank, before findings of all ranks are joined. */
export interface RankFinding {
  readonly id: FindingId;
  readonly title: string;
  readonly confidence: number;
  readonly addresses: Bottleneck | null;
  readonly evidence: readonly Evidence[];
  /** Of a finding about the run: the ranks concerned. Findings on a rank are about that rank. */
  readonly ranks?: readonly number[];
  /** Null: the gain is not known. */
  readonly price: Price | null;
  /** The cause is not in the job: what can be changed in the job comes first. */
  readonly outside?: true;
  /** Instead of the rule's own: another fix, or arguments that fit this job. */
  readonly remedy?: Use;
  /** What this fix gains here, added to its text. */
  readonly note?: string;
  /** The fix in a few words. The smaller fix that it extends names it, with its gain. */
  readonly inShort?: string;
}

export interface Price {
  readonly speedup: Speedup;
  /** Step time after the fix, as likely. */
  readonly after: Ns;
  /**
   * The fix shortens the time between training steps: `speedup` and `after` are of the whole step. Without it they are of
   * the training step, and the runner works out what that means for the whole.
   */
  readonly between?: true;
  /** Applied after the edits of earlier findings, to see what it adds. Null: the price does not come from a replay. */
  readonly edit: Edit | null;
  /** However fast the rest becomes, a step takes at least this long: the loader's own rate, for instance. */
  readonly floor: Ns;
}
