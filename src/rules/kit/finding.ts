import type { Ms, Ns } from '../../base/units.js';
import type { Bottleneck } from '../../facts/causes.js';
import type { Cost, Fix, Risk } from '../../remedies/kit/remedy.js';

/** One fault with its evidence and its fix, as the report has it. */
export interface Finding {
  /** Of this finding, e.g. `num-workers-zero`. One rule may have several. */
  readonly id: string;
  /** The rule's number in the knowledge base, e.g. `T4`; its id if it has none. */
  readonly rule: string;
  readonly title: string;
  readonly cost: Cost;
  readonly risk: Risk;
  /** Null if the gain is unknown. */
  readonly speedup: Speedup | null;
  /** Milliseconds per step that `speedup.likely` saves after the findings listed before it; null with it. */
  readonly saving_ms: Ms | null;
  /** How sure it is that the fault is there, 0 to 1. */
  readonly confidence: number;
  readonly ranks: readonly number[];
  readonly evidence: readonly Evidence[];
  readonly fix: Fix;
  /** A larger fix that extends this one: a second level of the same recommendation. Null: there is none, or its gain is unknown. */
  readonly further: FurtherFix | null;
  /** The bottleneck whose time it wins back; those of the verdict come first. Null: none (advice on measuring). */
  readonly addresses: Bottleneck | null;
}

/** Gains are those of both levels together. */
export interface FurtherFix {
  readonly id: string;
  readonly title: string;
  readonly fix: Fix;
  readonly speedup: Speedup;
  readonly saving_ms: Ms;
}

/** Step time before, divided by step time after. */
export interface Speedup {
  readonly low: number;
  readonly likely: number;
  readonly high: number;
}

/** Something a person can look up in the trace. Null if a field does not apply. */
export interface Evidence {
  readonly text: string;
  readonly value: number | null;
  readonly unit: string | null;
  readonly rank: number | null;
  readonly step: number | null;
  /** Position in the trace: nanoseconds from its first event. */
  readonly ts_ns: Ns | null;
  readonly dur_ns: Ns | null;
}
