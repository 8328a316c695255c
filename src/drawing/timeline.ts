import type { TimeByClass } from '../facts/time-class.js';
import type { SliceColumns } from './slices.js';

/** What the timeline asks for, and what it gets. Times: ns on the run's aligned clock, from the earliest event. */

export type TrackKind =
  | 'classes'
  | 'collectives'
  | 'stream'
  | 'gpu-annotations'
  | 'thread'
  | 'gpu-syncs'
  | 'counter';

export interface TrackInfo {
  readonly kind: TrackKind;
  readonly title: string;
  readonly rows: number;
  readonly slices: number;
  /** Slices that overlap too many others and are not drawn. */
  readonly leftOut: number;
  /** A thread that launches work. */
  readonly training: boolean;
  /** Of counters: the largest value and its unit. */
  readonly max?: number;
  readonly unit?: string;
}

export interface StepLine {
  readonly number: number;
  readonly from: number;
  readonly to: number;
}

export interface RankLine {
  readonly rank: number;
  /** `Rank 5 · node-b`. */
  readonly title: string;
  /** Named as late in the report. */
  readonly late: boolean;
  /** When the trace's own clock stands at 0, from which evidence counts. */
  readonly begin: number;
  readonly from: number;
  readonly to: number;
  readonly steps: readonly StepLine[];
}

export interface TimelineTracks {
  readonly from: number;
  readonly to: number;
  readonly ranks: readonly RankLine[];
  /** What the reader should know: clocks that could not be aligned, slices that the file leaves out. */
  readonly notes: readonly string[];
}

export interface SliceQuery {
  readonly rank: number;
  readonly track: number;
  readonly from: number;
  readonly to: number;
  /** Pixels. */
  readonly width: number;
}

/** `row` counts from the top of the track; `name` is an index in `names`. Of counters, `busy` is the value. */
export interface DrawnSlices extends SliceColumns {
  readonly row: Uint16Array;
  readonly names: readonly string[];
}

export interface SliceId {
  readonly rank: number;
  readonly track: number;
  readonly row: number;
  readonly index: number;
}

/** Where a slice is. */
export interface PlacedSlice extends SliceId {
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

export interface SliceDetail extends PlacedSlice {
  /** In plain words: label and value. */
  readonly fields: readonly (readonly [label: string, value: string])[];
  /** The call that launched it, what it launched. */
  readonly related: readonly (PlacedSlice & { readonly label: string })[];
}

export type SearchHit = PlacedSlice;

export interface RangeTotals {
  readonly rank: number;
  readonly from: number;
  readonly to: number;
  /** Adds up to the part of the range that was recorded. */
  readonly time: TimeByClass;
  /** Work of the device in the range, most time first; time outside the range is not counted. */
  readonly kernels: readonly NamedTotal[];
  /** How many more kernels there are. */
  readonly moreKernels: number;
  /** Some of it was drawn in less detail: names of short kernels are those of their neighbors. */
  readonly summarized: boolean;
}

export interface NamedTotal {
  readonly name: string;
  readonly time: number;
  readonly count: number;
}

export interface TimelinePoint {
  readonly rank: number;
  readonly track: number;
  readonly row: number;
  readonly time: number;
}

export interface Arrow {
  readonly kind: 'launch' | 'late';
  readonly from: TimelinePoint;
  readonly to: TimelinePoint;
}

/** A piece of the critical path: from here on, this rank set the pace. In order of time. */
export interface PathPiece {
  readonly rank: number;
  readonly from: number;
  readonly to: number;
}

export interface Arrows {
  readonly arrows: readonly Arrow[];
  readonly path: readonly PathPiece[];
}

export interface TimelineSource {
  tracks(): Promise<TimelineTracks>;
  /** The tracks of one rank. May take a while the first time: its trace is read. */
  open(rank: number): Promise<readonly TrackInfo[]>;
  slices(query: SliceQuery): Promise<DrawnSlices>;
  detail(slice: SliceId): Promise<SliceDetail>;
  search(text: string, limit: number, ranks: readonly number[]): Promise<readonly SearchHit[]>;
  totals(query: { readonly rank: number; readonly from: number; readonly to: number }): Promise<RangeTotals>;
  arrows(query: {
    readonly from: number;
    readonly to: number;
    readonly ranks: readonly number[];
  }): Promise<Arrows>;
}
