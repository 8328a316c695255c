import type { Cost, Finding, Risk } from './finding.js';
import type { RunFacts } from './run-facts.js';

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

/** A rule looks at facts and either finds something or says why it does not apply. It never throws on purpose. */
export interface Rule {
  readonly info: RuleInfo;
  check(facts: RunFacts): RuleResult;
}

export type RuleResult =
  | { readonly findings: readonly Finding[] }
  /** Why it does not apply, for people who ask; one sentence. */
  | { readonly silent: string };
