import type { Lane } from './layout.js';
import type { Arrow, PathPiece, PlacedSlice } from './source.js';

/** A range of time that was selected, on some ranks. */
export interface SelectedRange {
  readonly from: number;
  readonly to: number;
  readonly ranks: readonly number[];
  readonly label?: string;
}

/** All that a frame shows. */
export interface Scene {
  /** ns at the left edge of the plot. */
  from: number;
  nsPerPixel: number;
  scrollTop: number;
  /** The whole run. */
  whole: { readonly from: number; readonly to: number };
  lanes: readonly Lane[];
  /** Width of the column of titles. */
  gutter: number;
  selected: PlacedSlice | null;
  range: SelectedRange | null;
  hits: readonly PlacedSlice[];
  hover: { readonly x: number; readonly y: number } | null;
  arrows: readonly Arrow[];
  /** Arrows of the selected slice: always drawn. */
  ownArrows: readonly Arrow[];
  path: readonly PathPiece[];
}

/** Heights of what stays on top, in CSS pixels. */
export const MINIMAP = 26;
export const RULER = 22;
export const TOP = MINIMAP + RULER;
