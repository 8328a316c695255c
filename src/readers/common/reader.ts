import type { Problem } from '../../base/problem.js';
import type { CompileLog } from '../../model/compile-log.js';
import type { EventLog } from '../../model/event-log.js';
import type { FlightDump } from '../../model/flight-dump.js';
import type { Manifest } from '../../model/manifest.js';
import type { Recording } from '../../model/recording.js';
import type { StackProfile } from '../../model/stack-profile.js';
import type { GpuTelemetry } from '../../model/telemetry.js';
import type { TraceData } from '../../model/trace-data.js';
import type { FactsRecord } from './facts-record.js';

/** What a reader makes of one member. */
export type ReadResult =
  | { readonly kind: 'kineto'; readonly trace: TraceData; readonly problems: readonly Problem[] }
  | { readonly kind: 'perfetto'; readonly trace: TraceData; readonly problems: readonly Problem[] }
  | { readonly kind: 'nsys'; readonly trace: TraceData; readonly problems: readonly Problem[] }
  /** Null: of another version, or broken. */
  | { readonly kind: 'facts'; readonly record: FactsRecord | null; readonly problems: readonly Problem[] }
  | { readonly kind: 'events'; readonly log: EventLog; readonly problems: readonly Problem[] }
  /** Null: too large, or not JSON. */
  | { readonly kind: 'manifest'; readonly manifest: Manifest | null; readonly problems: readonly Problem[] }
  | { readonly kind: 'torch-log'; readonly log: CompileLog; readonly problems: readonly Problem[] }
  | { readonly kind: 'flight-recorder'; readonly dump: FlightDump; readonly problems: readonly Problem[] }
  | {
      readonly kind: 'py-spy';
      readonly profiles: readonly StackProfile[];
      readonly problems: readonly Problem[];
    }
  /** Null: it has no header. */
  | {
      readonly kind: 'proc-samples';
      readonly recording: Recording | null;
      readonly problems: readonly Problem[];
    }
  | { readonly kind: 'dmon'; readonly telemetry: GpuTelemetry; readonly problems: readonly Problem[] };

/** A format: how to recognize it and how to read it. */
export interface ReaderDescriptor {
  readonly id: ReadResult['kind'];
  /** For error messages: "a PyTorch profiler trace (Chrome trace JSON)". */
  readonly title: string;
  /** Looks only at the first decoded bytes (at most 64 KiB), never at the file name, which may be anything. */
  sniff(head: Uint8Array): boolean;
  create(options: ReaderOptions): StreamReader;
  /**
   * For formats that must be read at many positions. `create` is then only for bytes that come one after the other, as from a
   * pipe. Faults in the data are problems in the result.
   */
  readonly readAt?: (file: RandomAccess) => Promise<ReadResult>;
}

/** A file that can be read anywhere. */
export interface RandomAccess {
  readonly size: number;
  /** `length` bytes from `at`; fewer only at the end. */
  read(at: number, length: number): Promise<Uint8Array>;
}

export interface ReaderOptions {
  /** Share of the file that has been read, 0..1; NaN when unknown. Used to size the columns. */
  readonly progress?: () => number;
  /** Only what comparing ranks needs: the reader may skip the rest. */
  readonly light?: boolean;
}

/** Push decoded bytes, then finish. Throws only on bugs: faults in the data are problems in the result. */
export interface StreamReader {
  push(chunk: Uint8Array): void;
  /** The rest of the bytes is not needed. */
  readonly isDone?: boolean;
  /** It keeps no chunk: after `push` the memory may be used again. */
  readonly keepsNothing?: boolean;
  finish(): ReadResult;
}
