import type { Batch, RawKind, ScannerTables } from '../common/trace-rows/batch.js';

/**
 * Events in the middle of a file, read by a scanner that knows nothing of what comes before. Plain data that moves between
 * threads. Ids of strings, kinds and tracks are those of that scanner; offsets count from where the part starts in the file.
 */
export interface Shard {
  /** The first that its scanner has read. */
  readonly isFirst: boolean;
  /** Length of the part, decoded. */
  readonly length: number;
  /** The bytes before the first event and after the last: the rest of an event, the beginning of one, or what is no event. */
  readonly head: Uint8Array;
  readonly tail: Uint8Array;
  /** No comma follows the last event. */
  readonly isAfterEvent: boolean;
  readonly batches: readonly ShardBatch[];
  /** What this scanner had not met in the shards before. */
  readonly newStrings: ShardStrings;
  /** The same for tracks: string ids of pid and tid, in turns. */
  readonly newTracks: Uint32Array;
  /** All kinds that the scanner knows, with the events in this shard. */
  readonly kinds: readonly RawKind[];
  readonly counters: ScannerTables['counters'];
}

export interface ShardBatch extends Omit<Batch, 'ts' | 'strings' | 'tracks'> {
  /** Absolute times, ns in 64 bits: the lower half, then the upper one. */
  readonly times: Int32Array;
  // `offsets` are those of all rows.
}

export interface ShardStrings {
  /** End to end. */
  readonly bytes: Uint8Array;
  readonly lengths: Uint32Array;
  /** Of the event where each was first seen. */
  readonly offsets: Float64Array;
}
