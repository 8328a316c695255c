import type { RankSteps, StepMetric } from '../../src/page/page-data.js';
import { missingCode, timeOfCode } from '../../src/page/page-data.js';

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

export interface Colors {
  /** ns at the ends of the ramp. */
  readonly low: number;
  readonly high: number;
  /** RGBA of each code, one 32-bit word each. */
  readonly words: Uint32Array;
}

/** The ramp spans at least this share of the usual value, so that noise does not look like a fault. */
const LEAST_SPAN = 0.2;

/**
 * Colors from what is usual for the fast to what is usual for the slowest rank. A single slow cell must not make all others
 * look alike, and a rank that is always late must not be cut off.
 */
export function colorsFor(metric: StepMetric, ranks: number, ramp: readonly Rgb[], missing: Rgb): Colors {
  const none = missingCode(metric.codes);
  const times = Float64Array.from({ length: none + 1 }, (_, code) => timeOfCode(metric, code));
  const counts = new Uint32Array(none + 1);
  for (const code of metric.codes) counts[code]!++;
  const known = metric.codes.length - counts[none]!;
  const valueAt = (q: number) => {
    let left = q * known;
    for (let code = 0; code < none; code++) {
      left -= counts[code]!;
      if (left < 0) return times[code]!;
    }
    return metric.top;
  };
  const low = valueAt(0.1);
  const slowest = Math.max(valueAt(0.999), slowestMean(metric, ranks, times));
  const high = Math.max(slowest, low + LEAST_SPAN * valueAt(0.5), 1);
  const words = Uint32Array.from(times, (time) =>
    Number.isNaN(time)
      ? wordOf(missing)
      : wordOf(mixed(ramp, Math.min(1, Math.max(0, (time - low) / (high - low))))),
  );
  return { low, high, words };
}

function slowestMean({ codes }: StepMetric, ranks: number, times: Float64Array): number {
  const columns = codes.length / ranks;
  let slowest = 0;
  for (let r = 0; r < ranks; r++) {
    let [sum, count] = [0, 0];
    for (let c = r * columns; c < (r + 1) * columns; c++) {
      const time = times[codes[c]!]!;
      if (time >= 0) [sum, count] = [sum + time, count + 1];
    }
    if (count > 0) slowest = Math.max(slowest, sum / count);
  }
  return slowest;
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
  { words }: Colors,
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
