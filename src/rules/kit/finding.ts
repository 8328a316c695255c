import type { Ms, Ns } from '../../base/units.js';
import type { Bottleneck } from '../../diagnosis/verdict/bottleneck.js';

/** What a fix costs to apply, cheapest first: a flag at start-up, an argument, an edit to the loop or model, a machine. */
export const COSTS = ['free', 'knob', 'code', 'hardware'] as const;
export type Cost = (typeof COSTS)[number];
/** What a fix may change besides speed. */
export const RISKS = ['none', 'numerics', 'memory', 'data'] as const;
export type Risk = (typeof RISKS)[number];

/** One fault with its evidence and the way out of it, in the shape and with the names of the report. */
export interface Finding {
  /** Short id of this finding, e.g. `num-workers-zero`. One rule may have several. */
  readonly id: string;
  /** Id of the rule, e.g. `T4`. */
  readonly rule: string;
  readonly title: string;
  readonly cost: Cost;
  readonly risk: Risk;
  /** Null where the evidence carries no price. */
  readonly speedup: Speedup | null;
  /** Milliseconds a step that `speedup.likely` saves; null with it. */
  readonly saving_ms: Ms | null;
  /** That the fault is there, 0 to 1. */
  readonly confidence: number;
  readonly ranks: readonly number[];
  readonly evidence: readonly Evidence[];
  readonly fix: { readonly text: string; readonly code: string };
  /** Which kind of lost time it wins back; the verdict's own come first. Null: none (advice on the measurement). */
  readonly addresses: Bottleneck | null;
}

/** Step time before, divided by step time after. */
export interface Speedup {
  readonly low: number;
  readonly likely: number;
  readonly high: number;
}

/** Something a person can look up in the trace. Null where a field makes no sense. */
export interface Evidence {
  readonly text: string;
  readonly value: number | null;
  readonly unit: string | null;
  readonly rank: number | null;
  readonly step: number | null;
  /** Place in the trace: nanoseconds from its first event. */
  readonly ts_ns: Ns | null;
  readonly dur_ns: Ns | null;
}
