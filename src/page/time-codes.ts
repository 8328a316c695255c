/**
 * Times as small whole numbers on a logarithmic scale: a code is off by 0.01% (16 bits) or 1.9% (8 bits), however far the
 * slowest step is from the usual one. 0: no time, or next to none. The largest code: not recorded.
 */
export interface CodedTimes {
  /** ns of the largest time. */
  readonly top: number;
  readonly codes: Uint8Array | Uint16Array;
}

/** The smallest time that is not 0 is this many powers of ten below the largest. */
const decadesOf = (codes: CodedTimes['codes']) => (codes instanceof Uint8Array ? 4 : 6);

export const missingCode = (codes: CodedTimes['codes']) => (codes instanceof Uint8Array ? 0xff : 0xffff);

/** `times` in ns; NaN: not recorded. `wide`: two bytes for each. */
export function encodeTimes(times: Float64Array, wide: boolean): CodedTimes {
  let top = 0;
  for (const t of times) if (t > top) top = t;
  const codes = wide ? new Uint16Array(times.length) : new Uint8Array(times.length);
  const [most, decades] = [missingCode(codes) - 1, decadesOf(codes)];
  for (let i = 0; i < times.length; i++) {
    const time = times[i]!;
    if (Number.isNaN(time)) codes[i] = most + 1;
    else if (time > 0) codes[i] = Math.max(0, Math.round(most * (1 + Math.log10(time / top) / decades)));
  }
  return { top, codes };
}

/** ns of a code. NaN: not recorded. */
export function timeOfCode({ top, codes }: CodedTimes, code: number): number {
  const most = missingCode(codes) - 1;
  if (code > most) return Number.NaN;
  return code === 0 ? 0 : top * 10 ** ((code / most - 1) * decadesOf(codes));
}

/** ns of a cell. */
export const decodeTime = (times: CodedTimes, cell: number): number => timeOfCode(times, times.codes[cell]!);
