// The columns of the batch being filled. The host copies them out when it is full.
import { alloc } from './memory';

export const ROWS: u32 = 32768;
/** The file offset of every 256th row is kept. */
export const OFFSET_EVERY: u32 = 256;

export const TS: usize = alloc(ROWS * 8); // i64, absolute, while filling; f64, from the base, once finished
export const DUR: usize = alloc(ROWS * 4);
export const NAME: usize = alloc(ROWS * 4);
export const EXTERNAL: usize = alloc(ROWS * 4);
export const CORRELATION: usize = alloc(ROWS * 4);
export const TRACK: usize = alloc(ROWS * 2);
export const KIND: usize = alloc(ROWS);
export const OFFSETS: usize = alloc((ROWS / OFFSET_EVERY + 1) * 8); // f64: where in the file

export function columnsAt(which: u32): usize {
  switch (which) {
    case 0: return TS;
    case 1: return DUR;
    case 2: return NAME;
    case 3: return EXTERNAL;
    case 4: return CORRELATION;
    case 5: return TRACK;
    case 6: return KIND;
    default: return OFFSETS;
  }
}
