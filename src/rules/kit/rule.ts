import type { Ns } from '../../base/units.js';
import type { RankView, TraceView } from '../../diagnosis/ranks/rank-view.js';
import type { RunFacts } from '../../diagnosis/run-facts.js';
import type { Bottleneck } from '../../diagnosis/verdict/bottleneck.js';
import type { Plan } from '../../replay/plan.js';
import type { Cost, Evidence, Finding, Risk, Speedup } from './finding.js';

/** A rule as data: what `whyslow rules ID` prints. */
export interface RuleInfo {
  /** `T4`, `W3`: the numbering of the knowledge base. */
  readonly id: string;
  readonly title: string;
  /** What input it needs, e.g. `trace`, `trace or events`. */
  readonly needs: string;
  /** What must be seen for it to fire. */
  readonly looksFor: string;
  readonly why: string;
  readonly fix: { readonly text: string; readonly code: string };
  /** How to check that the result of the training is still right after the fix. */
  readonly check: string;
  readonly cost: Cost | null;
  readonly risk: Risk;
  readonly thresholds: readonly Threshold[];
}

export interface Threshold {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** Where the number comes from. */
  readonly source: string;
}

/**
 * A rule looks at one rank and either finds something or says why it does not apply. It says what it reads: most rules need
 * a trace, and are not asked about ranks that only have an event log. A rule never throws on purpose; one that does becomes
 * a problem in the report.
 */
export type Rule = TraceRule | AnyRule;

export interface TraceRule {
  readonly reads: 'traces';
  readonly info: RuleInfo;
  check(view: TraceView, run: RunFacts): RuleResult;
}

export interface AnyRule {
  readonly reads: 'traces and logs';
  readonly info: RuleInfo;
  check(view: RankView, run: RunFacts): RuleResult;
}

export type RuleResult = Silent | { readonly findings: readonly RankFinding[] };
/** Why it does not apply, for people who ask; one sentence. */
export interface Silent {
  readonly silent: string;
}

/** How uncertain parts of a fix turn out: worse than expected, as expected, better. */
export type Level = 'low' | 'likely' | 'high';
/** A fix as a change of the plan that is played again. */
export type Edit = (plan: Plan, level: Level) => void;

/** A finding on one rank, before findings of all ranks are joined. */
export interface RankFinding {
  readonly id: string;
  readonly title: string;
  readonly confidence: number;
  readonly addresses: Bottleneck | null;
  readonly evidence: readonly Evidence[];
  /** Null: the evidence carries no price. */
  readonly price: Price | null;
  /** Overrides of the rule's own. */
  readonly cost?: Cost;
  readonly risk?: Risk;
  readonly fix?: Finding['fix'];
}

export interface Price {
  readonly speedup: Speedup;
  /** ns a step it takes after the fix, as likely. */
  readonly after: Ns;
  /** Applied after others, to see what is left of the gain; null when the price does not come from playing the plan. */
  readonly edit: Edit | null;
  /** However fast the rest becomes, a step takes at least this long (ns): the loader's own rate, for instance. */
  readonly floor: Ns;
}
