import type { CheckResult } from '../base/check.js';
import type { BoundedDrawing } from '../drawing/bounded.js';
import type { TraceDrawing } from '../drawing/draw-trace.js';
import type { EventLogSummary } from '../logs/log-summary.js';
import type { CompileLog } from '../model/compile-log.js';
import type { EventLog } from '../model/event-log.js';
import type { FlightDump } from '../model/flight-dump.js';
import type { Manifest } from '../model/manifest.js';
import type { StackProfile } from '../model/stack-profile.js';
import type { GpuTelemetry } from '../model/telemetry.js';
import type { TraceData } from '../model/trace-data.js';
import type { GpuSeries } from '../telemetry/gpu-series.js';
import type { GpuState } from '../telemetry/gpu-state.js';
import type { JobActivity } from '../telemetry/processes/job-activity.js';
import type { TraceFacts } from '../traces/trace-facts.js';
import type { TraceSummary } from '../traces/trace-summary.js';
import type { MemberResult } from './member-reader.js';

/** One file, or one member of an archive, that was read. `Want` decides which fields are set. */
export type TaskMember = RankMember | RunMember | UnknownMember | RefusedMember;

/** Belongs to a rank. */
export type RankMember = TraceMember | LogMember;
/** Belongs to the whole run or to a machine. */
export type RunMember =
  | ManifestMember
  | TelemetryMember
  | ProcessesMember
  | CompileLogMember
  | FlightMember
  | StacksMember;

interface Member extends Omit<MemberResult, 'content'> {
  readonly identity: MemberIdentity;
  readonly checks: readonly CheckResult[];
}

/** Formats that have the events of a trace. */
export const TRACE_KINDS = ['kineto', 'perfetto', 'nsys'] as const;
export type TraceKind = (typeof TRACE_KINDS)[number];

export interface TraceMember extends Member {
  readonly kind: TraceKind;
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

export interface LogMember extends Member {
  readonly kind: 'events';
  /** Set for `summary`. */
  readonly summary: EventLogSummary | null;
  /** Set for `trace` and `facts`: logs are small. */
  readonly log: EventLog | null;
}

export interface ManifestMember extends Member {
  readonly kind: 'manifest';
  readonly manifest: Manifest | null;
}

export interface TelemetryMember extends Member {
  readonly kind: 'dmon';
  readonly gpus: readonly GpuState[];
  /** The same GPUs over time. */
  readonly series: readonly GpuSeries[];
  /** Set for `trace`. */
  readonly telemetry: GpuTelemetry | null;
}

export interface ProcessesMember extends Member {
  readonly kind: 'proc-samples';
  /** Null: fewer than two samples. */
  readonly activity: JobActivity | null;
  /** From what nvidia-smi printed meanwhile, if the recording has it. */
  readonly gpus: readonly GpuState[];
}

export interface CompileLogMember extends Member {
  readonly kind: 'torch-log';
  readonly log: CompileLog;
}

export interface FlightMember extends Member {
  readonly kind: 'flight-recorder';
  readonly dump: FlightDump;
}

export interface StacksMember extends Member {
  readonly kind: 'py-spy';
  readonly profiles: readonly StackProfile[];
}

export interface UnknownMember extends Member {
  readonly kind: 'unknown';
  /** For the error message. */
  readonly looksLike: string;
}

/** Facts of another version, or broken ones. Good ones are a `TraceMember`. */
export interface RefusedMember extends Member {
  readonly kind: 'facts';
}

/** Which part of the run the content belongs to. */
export interface MemberIdentity {
  readonly events: number;
  readonly rank: number | null;
  /** Tells apart traces of one rank that cover different steps. */
  readonly window: string;
}

const RUN_KINDS: readonly TaskMember['kind'][] = [
  'manifest',
  'dmon',
  'proc-samples',
  'torch-log',
  'flight-recorder',
  'py-spy',
] satisfies RunMember['kind'][];

export const isRunMember = (member: TaskMember): member is RunMember => RUN_KINDS.includes(member.kind);

export const isTraceMember = (member: TaskMember): member is TraceMember =>
  (TRACE_KINDS as readonly string[]).includes(member.kind);

export const manifestOf = (member: TaskMember): Manifest | null =>
  member.kind === 'manifest' ? member.manifest : null;

export const logOf = (member: TaskMember): EventLog | null => (member.kind === 'events' ? member.log : null);

export const traceFactsOf = (member: TaskMember): TraceFacts | null =>
  isTraceMember(member) ? member.facts : null;

export const traceSummaryOf = (member: TaskMember): TraceSummary | null =>
  isTraceMember(member) ? member.summary : null;
