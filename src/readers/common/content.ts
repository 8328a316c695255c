import type { ColumnStore } from '../../base/shape.js';
import type { MemoryFacts } from '../../memory/memory-facts.js';
import type { CompileLog } from '../../model/compile-log.js';
import type { EventLog } from '../../model/event-log.js';
import type { FlightDump } from '../../model/flight-dump.js';
import type { Incident } from '../../model/incident.js';
import type { Manifest } from '../../model/manifest.js';
import type { RasStatus } from '../../model/ras-status.js';
import type { StackProfile } from '../../model/stack-profile.js';
import type { GpuTelemetry } from '../../model/telemetry.js';
import type { TraceData } from '../../model/trace-data.js';
import type { GpuSeries, GpuState } from '../../telemetry/gpu-state.js';
import type { JobActivity } from '../../telemetry/processes/job-activity.js';

/** What is in a file, whatever its format. Traces and logs belong to a rank. */
export type Content =
  /** `parts`: the file holds several ranks. */
  | {
      readonly of: 'trace';
      readonly trace: TraceData;
      readonly parts?: (() => Iterable<RankPart>) | undefined;
    }
  | { readonly of: 'log'; readonly log: EventLog }
  /** A trace that was analyzed before. Null: of another version, or broken. */
  | { readonly of: 'facts'; readonly record: FactsRecord | null }
  /** Belongs to the whole run or to a machine. */
  | { readonly of: 'run'; readonly events: number; readonly evidence: Evidence };

/** One of several ranks in one file. */
export interface RankPart {
  /** Ends its path, and may name the rank: `rank3`. */
  readonly label: string;
  readonly trace: TraceData;
}

/** What a file shows about the run. A format sets what its files have. */
export interface Evidence {
  readonly manifest?: Manifest;
  readonly gpus?: readonly GpuState[];
  /** The same GPUs over time. */
  readonly series?: readonly GpuSeries[];
  /** Every sample, if the caller wants them. */
  readonly telemetry?: GpuTelemetry;
  /** From samples of /proc. Null: fewer than two samples. */
  readonly activity?: JobActivity | null;
  readonly compileLog?: CompileLog;
  readonly flightDump?: FlightDump;
  readonly ras?: RasStatus;
  /** One entry per GPU. */
  readonly memory?: readonly MemoryFacts[];
  readonly stacks?: readonly StackProfile[];
  /** Found by whoever watched the run. */
  readonly incidents?: readonly Incident[];
}

/** A facts file, unpacked but not yet understood: its shape is in `traces/stored/`. */
export interface FactsRecord {
  /** What comparing ranks needs. */
  readonly core: FactsPart;
  /** What pricing needs besides. Null: not in the file, or not asked for. */
  readonly detail: FactsPart | null;
}

export interface FactsPart extends ColumnStore {
  readonly data: unknown;
}
