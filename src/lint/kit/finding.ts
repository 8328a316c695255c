import type { Span } from '../python/nodes.js';
import type { Training } from '../training/training.js';

/** Rules of the knowledge base that scripts can break, by name, with their numbers. A test compares them with src/rules. */
export const RULE_NUMBERS = {
  'activation-checkpointing': 'T17',
  'allocator-churn': 'W4',
  'anomaly-detection': 'T12',
  'bursty-input': 'T7',
  'checkpoint-in-step': 'W4',
  'cudnn-benchmark': 'T10',
  'exposed-collectives': 'T23',
  'find-unused-parameters': 'T23',
  'heavy-profiler': 'W6',
  'host-pause': 'W4',
  'host-sync': 'T23',
  'launch-bound': 'T15',
  'nchw-convolutions': 'T11',
  'no-prefetch': 'T23',
  'not-sixteen-bit': 'T13',
  'num-workers-zero': 'T4',
  'pageable-copies': 'T6',
  recompiles: 'T16',
  'scalar-collectives': 'W2',
  'small-collectives': 'T23',
  'tf32-off': 'T9',
  'unfused-attention': 'T14',
  'unfused-optimizer': 'W3',
  'workers-restarted': 'T5',
  'zero-fill': 'T12',
} as const;

export type LintRule = keyof typeof RULE_NUMBERS;

/** What a check saw, and where. */
export interface Fault {
  readonly id: LintRule;
  readonly at: Span;
  /** What is wrong and why it costs time. */
  readonly message: string;
  readonly fix: string;
}

/** Looks at one script. It reports only what the structure of the loop supports. */
export type Check = (training: Training) => readonly Fault[];

export interface LintFinding {
  /** Number in the knowledge base: `T4`. */
  readonly rule: string;
  /** Name in the knowledge base: `num-workers-zero`. */
  readonly id: LintRule;
  readonly file: string;
  /** Of a notebook, counted from 1. Null: the file is no notebook. Lines count in the cell. */
  readonly cell: number | null;
  /** Lines and columns count from 1. */
  readonly line: number;
  readonly column: number;
  readonly end_line: number;
  readonly end_column: number;
  readonly message: string;
  readonly fix: string;
  /** The line itself. */
  readonly source: string;
}

/** What `whyslow lint --json` prints. */
export interface LintReport {
  readonly schema: 'whyslow/lint/1';
  readonly findings: readonly LintFinding[];
  readonly files: readonly LintedFileInfo[];
  readonly tool: { readonly name: string; readonly version: string };
}

interface LintedFileInfo {
  readonly path: string;
  /** How many were found. */
  readonly findings: number;
  /** Findings that comments turned off. */
  readonly ignored: number;
  /** What kept lint from reading all of it, one sentence each. */
  readonly problems: readonly string[];
}
