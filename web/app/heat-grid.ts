import type { RankSteps, StepMetric } from '../../src/page/page-data.js';
import { missingCode, timeOfCode } from '../../src/page/time-codes.js';

/** Rows of the heat map in the order shown, and the groups that they form. */
export interface GridRows {
  /** Indices in `RankSteps.ranks`. */
  readonly order: readonly number[];
  readonly groups: readonly { readonly name: string; readonly from: number; readonly to: number }[];
}

/** What ranks can be grouped by: the host, and every axis of the mesh with more than one position. */
export function groupings({ hosts, coordinates }: RankSteps): string[] {
  const axes = new Map<string, Set<number>>();
  for (const at of coordinates)
    for (const [axis, position] of Object.entries(at ?? {}))
      axes.set(axis, (axes.get(axis) ?? new Set()).add(position));
  const several = [...axes].filter(([, positions]) => positions.size > 1).map(([axis]) => axis);
  return [...(new Set(hosts.filter((h) => h !== null)).size > 1 ? ['host'] : []), ...several];
}

/** `by`: null for the order of rank numbers. */
export function rowsBy({ ranks, hosts, coordinates }: RankSteps, by: string | null): GridRows {
  const all = ranks.map((_, r) => r);
  if (by === null) return { order: all, groups: [] };
  const position = (r: number) => coordinates[r]?.[by];
  const nameOf = (r: number) =>
    by === 'host' ? (hosts[r] ?? 'unknown host') : `${by} ${position(r) ?? '?'}`;
  const order = all.sort((a, b) =>
    by === 'host'
      ? nameOf(a).localeCompare(nameOf(b), 'en', { numeric: true }) || a - b
      : (position(a) ?? -1) - (position(b) ?? -1) || a - b,
  );
  const groups: { name: string; from: number; to: number }[] = [];
  order.forEach((r, row) => {
    const last = groups.at(-1);
    if (last?.name === nameOf(r)) last.to = row + 1;
    else groups.push({ name: nameOf(r), from: row, to: row + 1 });
  });
  return { order, groups };
}

export interface Colours {
  /** ns at the ends of the ramp. */
  readonly low: number;
  readonly high: number;
  /** RGBA of each code, one 32-bit word each. */
  readonly words: Uint32Array;
}

/** The ramp spans at least this share of the usual value, so that noise does not look like a fault. */
const LEAST_SPAN = 0.1;

/** Colours from the fastest cell to almost the slowest: one outlier must not make all others look alike. */
export function coloursFor(metric: StepMetric, ramp: readonly Rgb[], missing: Rgb): Colours {
  const counts = new Uint32Array(missingCode(metric.codes) + 1);
  for (const code of metric.codes) counts[code]!++;
  const known = metric.codes.length - counts[missingCode(metric.codes)]!;
  const valueAt = (q: number) => {
    let left = q * known;
    for (let code = 0; code < counts.length - 1; code++) {
      left -= counts[code]!;
      if (left <= 0) return timeOfCode(metric, code);
    }
    return metric.top;
  };
  const [low, usual] = [valueAt(1e-9), valueAt(0.5)];
  const high = Math.max(valueAt(0.999), low + LEAST_SPAN * usual, low * 1.001, 1);
  const words = Uint32Array.from(counts, (_, code) => {
    if (code === counts.length - 1) return wordOf(missing);
    const at = Math.min(1, Math.max(0, (timeOfCode(metric, code) - low) / (high - low)));
    return wordOf(mixed(ramp, at));
  });
  return { low, high, words };
}

export type Rgb = readonly [number, number, number];

function mixed(ramp: readonly Rgb[], at: number): Rgb {
  const place = at * (ramp.length - 1);
  const [from, to] = [ramp[Math.floor(place)]!, ramp[Math.ceil(place)]!];
  const part = place - Math.floor(place);
  const channel = (c: 0 | 1 | 2) => Math.round(from[c] + (to[c] - from[c]) * part);
  return [channel(0), channel(1), channel(2)];
}

const wordOf = ([r, g, b]: Rgb) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;

/**
 * The map as `width` × `height` pixels. Where a pixel stands for several cells, the slowest of them decides: a single late
 * rank of thousands must stay visible.
 */
export function paint(
  { codes }: StepMetric,
  { order }: GridRows,
  columns: number,
  width: number,
  height: number,
  { words }: Colours,
): Uint32Array {
  const pixels = new Uint32Array(width * height);
  const none = missingCode(codes);
  const worst = new Int32Array(width);
  for (let y = 0; y < height; y++) {
    worst.fill(-1);
    const from = Math.floor((y * order.length) / height);
    const to = Math.max(from + 1, Math.floor(((y + 1) * order.length) / height));
    for (let row = from; row < to; row++) {
      const first = order[row]! * columns;
      for (let c = 0; c < columns; c++) {
        const x = Math.floor((c * width) / columns);
        const code = codes[first + c]!;
        if (code !== none && code > worst[x]!) worst[x] = code;
      }
    }
    for (let x = 0; x < width; x++) pixels[y * width + x] = words[worst[x]! < 0 ? none : worst[x]!]!;
  }
  return pixels;
}
