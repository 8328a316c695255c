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
/** A part of a whole: 0.25 is 25 %. */
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
export const secondsToMs = (time: Seconds): Ms => ms(time * 1e3);

/** Three digits: `161 ms`, `16.1 ms`, `1.61 ms`. */
export function formatMs(time: Ns): string {
  const value = time / 1e6;
  return `${value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2)} ms`;
}

/** A small share keeps one decimal: `4.2 %`, `42 %`. */
export const formatPercent = (part: Share): string => `${(100 * part).toFixed(part < 0.1 ? 1 : 0)} %`;

/** `42 %`, `0 %`. */
export const formatWholePercent = (part: Share): string => `${Math.round(100 * part)} %`;

/** `1 step`, `2 steps`. */
export const formatCount = (n: number, what: string): string => `${n} ${what}${n === 1 ? '' : 's'}`;

/** The same shape with plain numbers: what a reader of JSON sees, and what tests write down. */
export type Plain<T> =
  T extends Unit<string> ? number : T extends object ? { readonly [K in keyof T]: Plain<T[K]> } : T;
