/**
 * Numbers that know their unit. A value of one unit cannot be passed where another is expected, and only the functions here
 * convert. Arithmetic gives plain numbers again: name the unit of the result, e.g. `ns(a - b)`.
 */
declare const UNIT: unique symbol;
type Unit<Name extends string> = number & { readonly [UNIT]: Name };

export type Ns = Unit<'ns'>;
export type Us = Unit<'us'>;
export type Ms = Unit<'ms'>;
export type Seconds = Unit<'s'>;
/** A part of a whole: 0.25 is 25%. */
export type Share = Unit<'share'>;
export type Bytes = Unit<'bytes'>;

export const ns = (value: number) => value as Ns;
export const us = (value: number) => value as Us;
export const ms = (value: number) => value as Ms;
export const seconds = (value: number) => value as Seconds;
export const share = (value: number) => value as Share;
export const bytes = (value: number) => value as Bytes;

/** Rounded to a nanosecond. */
export const toUs = (time: Ns): Us => us(Math.round(time) / 1e3);
/** Rounded to a microsecond. */
export const toMs = (time: Ns): Ms => ms(Math.round(time / 1e3) / 1e3);
export const toSeconds = (time: Ns): Seconds => seconds(time / 1e9);
export const fromMs = (time: Ms): Ns => ns(time * 1e6);

/** Three digits: `161 ms`, `16.1 ms`, `1.61 ms`. */
export function formatMs(time: Ns): string {
  const value = time / 1e6;
  return `${value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2)} ms`;
}

/** A small share keeps one decimal: `4.2%`, `42%`. */
export const formatPercent = (part: Share): string => `${(100 * part).toFixed(part < 0.1 ? 1 : 0)}%`;

/** `42%`, `0%`. */
export const formatWholePercent = (part: Share): string => `${Math.round(100 * part)}%`;

/** `1 step`, `2 steps`. */
export const formatCount = (n: number, one: string, many = `${one}s`): string =>
  `${n} ${n === 1 ? one : many}`;

/** Thousands with a comma: `1,050`. No locale, so that output is the same everywhere. */
export function formatWhole(n: number): string {
  const whole = Math.round(n);
  // Intl takes 12 ms to load.
  return Number.isSafeInteger(whole)
    ? String(whole).replace(/\B(?=(?:\d{3})+$)/g, ',')
    : whole.toLocaleString('en-US');
}

/** Three significant digits: `161`, `16.1`, `1.61`. */
const threeDigits = (n: number): string => n.toFixed(n >= 100 ? 0 : n >= 10 ? 1 : 2);

/** Large counts in short: `9999`, `84.9 k`, `36.8 M`. */
export function formatNumber(n: number): string {
  if (n < 10_000) return String(n);
  return n < 1e6
    ? `${threeDigits(n / 1e3)} k`
    : n < 1e9
      ? `${threeDigits(n / 1e6)} M`
      : `${threeDigits(n / 1e9)} G`;
}

/** `999 B`, `1.52 MB`. */
export function formatBytes(n: Bytes): string {
  if (n < 1000) return `${n} B`;
  return n < 1e6
    ? `${threeDigits(n / 1e3)} kB`
    : n < 1e9
      ? `${threeDigits(n / 1e6)} MB`
      : `${threeDigits(n / 1e9)} GB`;
}

/** The unit in which a time is easy to read, and the decimals of three significant digits. */
export interface TimeScale {
  readonly unit: 'µs' | 'ms' | 's';
  readonly perMs: number;
  readonly decimals: number;
}

export function timeScale(time: Ms): TimeScale {
  const [unit, perMs] =
    time >= 10_000 ? (['s', 1e-3] as const) : time < 1 ? (['µs', 1e3] as const) : (['ms', 1] as const);
  const value = time * perMs;
  return { unit, perMs, decimals: value >= 100 ? 0 : value >= 10 ? 1 : 2 };
}

/** The figure alone, without its unit. */
export const formatInScale = (time: Ms, { perMs, decimals }: TimeScale): string =>
  (time * perMs).toFixed(decimals);

/** `12.3 µs`, `161 ms`, `46.3 s`; `?` for NaN. */
export function formatTime(time: Ms): string {
  if (Number.isNaN(time)) return '?';
  const scale = timeScale(time);
  return `${formatInScale(time, scale)} ${scale.unit}`;
}

/** How long something took or will take: `42 ms`, `18.7 s`, `5 min 20 s`, `10 min`. */
export function formatDuration(time: Seconds): string {
  if (time < 1) return `${Math.round(time * 1000)} ms`;
  if (time < 120) return `${threeDigits(time)} s`;
  const whole = Math.round(time);
  return `${Math.floor(whole / 60)} min${whole % 60 === 0 ? '' : ` ${whole % 60} s`}`;
}

/** The same shape, read-only at every depth: what a schema describes. */
export type DeepReadonly<T> = T extends object ? { readonly [K in keyof T]: DeepReadonly<T[K]> } : T;

/** The same shape with plain numbers: what a reader of JSON sees, and what tests write down. */
export type Plain<T> =
  T extends Unit<string> ? number : T extends object ? { readonly [K in keyof T]: Plain<T[K]> } : T;
