import {
  type GpuIdentity,
  pciKey,
  TELEMETRY_FIELDS,
  type TelemetryField,
  uuidKey,
} from '../../../model/telemetry.js';
import { clipped } from '../text.js';

/** The sample being read. One object is reused for all lines. */
export interface Sample {
  index: number | null;
  name: string | null;
  uuid: string | null;
  pci: string | null;
  /** Day and time of day, ns; NaN until seen. */
  day: number;
  time: number;
  readonly figures: Record<TelemetryField, number>;
  /** Some value was not a number, or impossibly large. */
  odd: boolean;
}

const BLANK = { index: null, name: null, uuid: null, pci: null, day: NaN, time: NaN, odd: false };

export function emptySample(): Sample {
  const figures = Object.fromEntries(TELEMETRY_FIELDS.map((f) => [f, NaN]));
  return { ...BLANK, figures: figures as Record<TelemetryField, number> };
}

export function clearSample(sample: Sample): void {
  Object.assign(sample, BLANK);
  for (const field of TELEMETRY_FIELDS) sample.figures[field] = NaN;
}

export function identityOf({ index, name, uuid, pci }: Sample): GpuIdentity {
  return { index, name, uuid, pci };
}

/** Puts one cell of a line into the sample. */
export type Cell = (sample: Sample, text: string) => void;

const MISSING = /^(?:-|n\/a|\[.*\]|)$/i;
/** A number with or without its unit. */
const FIGURE = /^([+-]?\d+(?:\.\d+)?)\s*(?:%|MHz|W|C|MiB|s)?$/;
/** No value is larger, whether in MHz, watts, degrees or percent. */
const MOST = 1e6;

/** A number; NaN where it is missing or odd (then the sample is marked). */
function figureOf(sample: Sample, text: string): number {
  if (MISSING.test(text)) return Number.NaN;
  const value = Number(FIGURE.exec(text)?.[1] ?? Number.NaN);
  if (Math.abs(value) <= MOST) return value;
  sample.odd = true;
  return Number.NaN;
}

export const figure =
  (field: TelemetryField, scale = 1): Cell =>
  (sample, text) => {
    const value = figureOf(sample, text) * scale;
    // Of several columns for the same field, the first with a value counts.
    if (Number.isNaN(sample.figures[field])) sample.figures[field] = value;
  };

export const index: Cell = (sample, text) => {
  if (/^\d{1,4}$/.test(text)) sample.index = Number(text);
};
export const name: Cell = (sample, text) => {
  sample.name = clipped(text, 256);
};
export const uuid: Cell = (sample, text) => {
  sample.uuid = uuidKey(text);
};
export const pci: Cell = (sample, text) => {
  sample.pci = pciKey(text);
};

const DAY_NS = 86_400e9;

/** `20241115`, `2024/11/15`. */
export const day: Cell = (sample, text) => {
  const match = /^(\d{4})[/-]?(\d\d)[/-]?(\d\d)$/.exec(text);
  if (match) sample.day = Math.round(Date.UTC(+match[1]!, +match[2]! - 1, +match[3]!) * 1e6);
};

/** `12:34:56`, `12:34:56.789`. */
export const time: Cell = (sample, text) => {
  const match = /^(\d\d?):(\d\d):(\d\d(?:\.\d{1,9})?)$/.exec(text);
  const ns = match ? (+match[1]! * 3600 + +match[2]! * 60 + +match[3]!) * 1e9 : Number.NaN;
  if (ns < DAY_NS) sample.time = ns;
};

export const timestamp: Cell = (sample, text) => {
  const [date = '', clock = ''] = text.split(/[ T]+/, 2);
  day(sample, date);
  time(sample, clock);
};
