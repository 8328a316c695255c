import type { CheckResult } from '../base/check.js';
import type { EventLogSummary } from '../logs/log-summary.js';
import type { EventLog } from '../model/event-log.js';
import type { Manifest } from '../model/manifest.js';
import type { GpuTelemetry } from '../model/telemetry.js';
import type { TraceData } from '../model/trace-data.js';
import type { WhatIfAnswer } from '../operations/what-if.js';
import type { GpuState } from '../telemetry/gpu-state.js';
import type { TraceFacts } from '../traces/trace-facts.js';
import type { TraceSummary } from '../traces/trace-summary.js';
import type { MemberResult } from './member-reader.js';

/** One file, or one member of an archive, after it was read. Which fields are set depends on what was asked for (`Want`). */
export type TaskMember = RankMember | RunMember | UnknownMember;

/** Belongs to a rank. */
export type RankMember = TraceMember | LogMember | OperationsMember;
/** Belongs to the whole run or to a machine. */
export type RunMember = ManifestMember | TelemetryMember;

interface Member extends Omit<MemberResult, 'content'> {
  readonly identity: MemberIdentity;
  readonly checks: readonly CheckResult[];
}

export interface TraceMember extends Member {
  readonly kind: 'kineto';
  /** With `summary` and with `facts`. */
  readonly summary: TraceSummary | null;
  /** With `facts`. Null also where the trace has nothing to analyse. */
  readonly facts: TraceFacts | null;
  /** With `trace`. */
  readonly trace: TraceData | null;
}

export interface LogMember extends Member {
  readonly kind: 'events';
  /** With `summary`. */
  readonly summary: EventLogSummary | null;
  /** With `trace` and with `facts`: logs are small. */
  readonly log: EventLog | null;
}

export interface OperationsMember extends Member {
  readonly kind: 'operations';
  readonly whatIf: WhatIfAnswer;
}

export interface ManifestMember extends Member {
  readonly kind: 'manifest';
  readonly manifest: Manifest | null;
}

export interface TelemetryMember extends Member {
  readonly kind: 'dmon';
  readonly gpus: readonly GpuState[];
  /** With `trace`. */
  readonly telemetry: GpuTelemetry | null;
}

export interface UnknownMember extends Member {
  readonly kind: 'unknown';
  /** What it seems to be, for the error message. */
  readonly looksLike: string | null;
}

/** What the content says about which part of the run it is. */
export interface MemberIdentity {
  readonly events: number;
  readonly rank: number | null;
  /** Traces of one rank with different windows are not duplicates. */
  readonly window: string;
}

export const isRunMember = (member: TaskMember): member is RunMember =>
  member.kind === 'manifest' || member.kind === 'dmon';

export const manifestOf = (member: TaskMember): Manifest | null =>
  member.kind === 'manifest' ? member.manifest : null;

export const logOf = (member: TaskMember): EventLog | null => (member.kind === 'events' ? member.log : null);

export const traceFactsOf = (member: TaskMember): TraceFacts | null =>
  member.kind === 'kineto' ? member.facts : null;

export const traceSummaryOf = (member: TaskMember): TraceSummary | null =>
  member.kind === 'kineto' ? member.summary : null;
