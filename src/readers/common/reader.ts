import type { Problem } from '../../base/problem.js';
import type { TraceData } from '../../model/trace-data.js';
import type { Content, RankPart } from './content.js';

/** What a reader makes of one file. Each format adds its model: `trace`, `log`, `telemetry`, … */
export interface ReadModel {
  readonly problems: readonly Problem[];
  /** The file turned out to be of no use: what it is and what to pass instead, inside a sentence. */
  readonly refusal?: string;
}

/** The model of every kind of trace. */
export interface TraceRead extends ReadModel {
  readonly trace: TraceData;
  /** Set if the file holds several ranks: a trace for each. */
  readonly parts?: (() => Iterable<RankPart>) | undefined;
}

/**
 * A format: how to recognize it, how to read it, and what its files are good for. All of it is in the format's own folder; one
 * line in `registry.ts` adds it.
 */
export interface ReaderDescriptor<T extends ReadModel = ReadModel> {
  /** The `kind` of its files in reports. */
  readonly id: string;
  /** For error messages: "a PyTorch profiler trace (Chrome trace JSON)". */
  readonly title: string;
  /** How `inspect` names and counts such files. */
  readonly line: InspectLine;
  /**
   * A file without events is refused: its problems say what to pass instead. Without this, such a file in a searched folder is
   * ignored like any other.
   */
  readonly refusesEmpty?: boolean;
  /** Recognized only so that an error message can name it and what to pass instead. */
  readonly isAlwaysRefused?: boolean;
  /** Looks only at the first decoded bytes (at most 64 KiB), never at the file name, which may be anything. */
  sniff(head: Uint8Array): boolean;
  create(options: ReaderOptions): StreamReader<T>;
  /**
   * For formats that must be read at many positions. `create` is then only for bytes that come one after the other, as from a
   * pipe. Faults in the data are problems in the result.
   */
  readonly readAt?: (file: RandomAccess) => Promise<T>;
  /** What the rest of whyslow gets. `keepColumns`: the caller wants samples one by one, not only what they amount to. */
  digest(read: T, keepColumns: boolean): Content;
}

/** One line of `whyslow inspect`, as data. */
export interface InspectLine {
  readonly one: string;
  readonly many: string;
  /** What is counted in a file: events, records, samples. Empty: nothing. */
  readonly counts: string;
  /** It is a trace, which has events on a GPU. */
  readonly isTrace?: boolean;
  /** There is one per rank, so they are counted and not listed one by one. */
  readonly isUnlisted?: boolean;
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
  /** All of the file is in the bytes that it was recognized by. */
  readonly isSmall?: boolean;
}

/** Push decoded bytes, then finish. Throws only on bugs: faults in the data are problems in the result. */
export interface StreamReader<T extends ReadModel = ReadModel> {
  push(chunk: Uint8Array): void;
  /** The rest of the bytes is not needed. */
  readonly isDone?: boolean;
  /** It keeps no chunk: after `push` the memory may be used again. */
  readonly keepsNothing?: boolean;
  finish(): T;
}
