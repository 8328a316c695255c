import type { CheckResult } from '../base/check.js';
import type { Problem } from '../base/problem.js';
import type { BoundedDrawing } from '../drawing/bounded.js';
import type { TraceDrawing } from '../drawing/draw-trace.js';
import type { EventLogSummary } from '../logs/log-facts.js';
import type { EventLog } from '../model/event-log.js';
import type { Manifest } from '../model/manifest.js';
import type { TraceData } from '../model/trace-data.js';
import type { Evidence } from '../readers/common/content.js';
import type { InspectLine } from '../readers/common/reader.js';
import { READERS } from '../readers/registry.js';
import type { TraceFacts } from '../traces/trace-facts.js';
import type { TraceSummary } from '../traces/trace-summary.js';
import type { Read } from './read-member.js';

export type { InspectLine } from '../readers/common/reader.js';

/** One file, or one member of an archive, as the analysis gets it. `Want` decides how much of it there is. */
export type Input = RankInput | RunInput | RefusedInput;

/** Belongs to a rank. */
export type RankInput = TraceInput | LogInput;

interface AnyInput extends Omit<Read, 'content'> {
  readonly identity: InputIdentity;
  readonly checks: readonly CheckResult[];
}

export interface TraceInput extends AnyInput {
  readonly of: 'trace';
  /** Set for `summary` and `facts`. */
  readonly summary: TraceSummary | null;
  /** Set for `facts`, unless there is nothing to analyze. */
  readonly facts: TraceFacts | null;
  /** Set for `draw`. */
  readonly drawing: TraceDrawing | null;
  /** Set for `draw.bounded`. */
  readonly bounded: BoundedDrawing | null;
  /** Set for `trace`, and for `draw` where the columns are kept. */
  readonly trace: TraceData | null;
}

export interface LogInput extends AnyInput {
  readonly of: 'log';
  /** Set for `summary`. */
  readonly summary: EventLogSummary | null;
  /** Set for `trace` and `facts`: logs are small. */
  readonly log: EventLog | null;
}

/** Belongs to the whole run or to a machine. */
export interface RunInput extends AnyInput {
  readonly of: 'run';
  readonly evidence: Evidence;
}

/** No reader recognizes it, or it holds facts of another version, or broken ones. */
export interface RefusedInput extends AnyInput {
  readonly of: 'nothing';
  /** What the file is, for the error message. Null: its problems explain it. */
  readonly looksLike: string | null;
}

/** Which part of the run the content belongs to. */
export interface InputIdentity {
  readonly events: number;
  readonly rank: number | null;
  /** Distinguishes traces of one rank that cover different steps. */
  readonly window: string;
}

export const isRunInput = (input: Input): input is RunInput => input.of === 'run';

export const isTraceInput = (input: Input): input is TraceInput => input.of === 'trace';

export const manifestOf = (input: Input): Manifest | null =>
  (isRunInput(input) && input.evidence.manifest) || null;

export const logOf = (input: Input): EventLog | null => (input.of === 'log' ? input.log : null);

export const traceFactsOf = (input: Input): TraceFacts | null => (isTraceInput(input) ? input.facts : null);

export const traceSummaryOf = (input: Input): TraceSummary | null =>
  isTraceInput(input) ? input.summary : null;

/** How `inspect` names and counts files of a kind. */
export const inspectLineOf = (kind: string): InspectLine => READERS.find((r) => r.id === kind)!.line;

/** A file without events is refused, and its problems say what to pass instead. */
export const refusesEmpty = (kind: string): boolean =>
  READERS.some((r) => r.id === kind && r.refusesEmpty === true);

/** A trace without events, or a log without records, is of no use. */
export function isUsable(member: Input): member is RankInput | RunInput {
  return member.of !== 'nothing' && (member.identity.events > 0 || manifestOf(member) !== null);
}

/** What is known of a file that is of no use. */
interface Tried {
  readonly error: string | null;
  readonly members: readonly Input[];
  readonly problems: readonly Problem[];
}

/** Inside a sentence, which it ends. */
export function whyNot(result: Tried): string {
  if (result.error !== null) return result.error;
  const member = result.members[0];
  if (!member) return reasons(result.problems) || 'the archive has no files in it';
  const why = reasons(member.problems);
  const parts = [member.of === 'nothing' ? (member.looksLike ?? '') : '', why].filter((text) => text !== '');
  if (parts.length > 0) return parts.join('; ');
  const known = READERS.find((r) => r.id === member.kind);
  return known ? `it has no ${known.line.counts} (read as: ${known.line.one})` : 'it has no events';
}

/** Messages inside a sentence, which ends them. */
const reasons = (problems: readonly Problem[]) =>
  problems.map((p) => p.message.replace(/\.$/, '')).join('; ');
