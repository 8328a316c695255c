import { TIME_CLASSES, type TimeClass } from '../facts/time-class.js';

/** What a slice is painted as. The time classes come first, so that a class is its own paint. */
export const PAINTS = [
  ...TIME_CLASSES,
  'step',
  /** Matrix products, convolutions, attention. */
  'matrix',
  /** Other computing on the device. */
  'kernel',
  'operator',
  'annotation',
  'python',
  /** Calls of the CUDA runtime or driver. */
  'runtime',
  /** The profiler's own work, and all else. */
  'other',
] as const;
export type PaintName = (typeof PAINTS)[number];

export const Paint = Object.fromEntries(PAINTS.map((name, i) => [name, i])) as Readonly<
  Record<PaintName, number>
>;

/** Slices of one paint differ by name in so many shades. A painted byte is `paint * SHADES + shade`. */
export const SHADES = 8;

export const painted = (paint: number, shade = 0): number => paint * SHADES + shade;
export const paintOf = (byte: number): number => Math.floor(byte / SHADES);
export const classPaint = (name: TimeClass): number => painted(TIME_CLASSES.indexOf(name));

/** The same name has the same shade everywhere. What follows a bracket or a digit does not count: `gemm_128x64<…>`. */
export function shadeOf(name: string): number {
  let hash = 0;
  for (let i = 0; i < name.length && i < 200; i++) {
    const c = name.charCodeAt(i);
    if (i > 8 && (c === 0x3c || c === 0x28 || (c >= 0x30 && c <= 0x39))) break;
    hash = (Math.imul(hash, 31) + c) | 0;
  }
  return ((hash ^ (hash >>> 15)) >>> 0) % SHADES;
}
