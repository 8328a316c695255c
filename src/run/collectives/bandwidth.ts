import { quantile } from '../../base/statistics.js';
import { COLLECTIVE_KINDS, type CollectiveKind } from '../../facts/rank-collectives.js';
import type { MatchedCollectives } from './matched.js';

/** How fast collectives of one group, kind and size were, waiting left out. */
export interface Bandwidth {
  /** Place in `MatchedCollectives.groups`. */
  readonly group: number;
  readonly kind: CollectiveKind;
  /** Sizes from this on and below four times it. */
  readonly fromBytes: number;
  readonly bytes: number;
  readonly instances: number;
  /** ns, the tenth part of the fastest and the middle. */
  readonly transferP10: number;
  readonly transferMedian: number;
  /** Bus bandwidth, GB/s. Null: the size of the group is not known. */
  readonly gbPerSecond: { readonly p10: number; readonly median: number } | null;
}

/** What a byte of S costs on the bus in a group of n (method 5, as nccl-tests count it). NaN: no formula. */
export function busFactor(kind: CollectiveKind, n: number): number {
  switch (kind) {
    case 'all_reduce':
      return (2 * (n - 1)) / n;
    case 'all_gather':
    case 'reduce_scatter':
    case 'all_to_all':
    case 'gather':
    case 'scatter':
      return (n - 1) / n;
    case 'broadcast':
    case 'reduce':
    case 'send':
    case 'recv':
      return 1;
    default:
      return Number.NaN;
  }
}

const SIZE_BUCKET = 4;

/** `transfer`: of each instance, as `divideWaits` has it. Most time first. */
export function measureBandwidth(matched: MatchedCollectives, transfer: Float64Array): Bandwidth[] {
  const buckets = new Map<string, { group: number; kind: number; bucket: number; instances: number[] }>();
  for (let i = 0; i < matched.length; i++) {
    const bytes = matched.bytes[i]!;
    if (Number.isNaN(transfer[i]!) || !(bytes > 0)) continue;
    const bucket = Math.floor(Math.log(bytes) / Math.log(SIZE_BUCKET) + 1e-9);
    const [group, kind] = [matched.group[i]!, matched.kind[i]!];
    const key = `${group} ${kind} ${bucket}`;
    const known = buckets.get(key);
    if (known) known.instances.push(i);
    else buckets.set(key, { group, kind, bucket, instances: [i] });
  }
  const rows = [...buckets.values()].map(({ group, kind: place, bucket, instances }): Bandwidth => {
    const kind = COLLECTIVE_KINDS[place]!;
    const { size } = matched.groups[group]!;
    const times = instances.map((i) => transfer[i]!);
    // A byte a nanosecond is a GB/s.
    const factor = busFactor(kind, needsSize(kind) ? (size ?? Number.NaN) : 2);
    const speeds = instances.map((i) => (factor * matched.bytes[i]!) / transfer[i]!);
    return {
      ...{ group, kind, fromBytes: SIZE_BUCKET ** bucket, instances: instances.length },
      bytes: quantile(
        instances.map((i) => matched.bytes[i]!),
        0.5,
      ),
      ...{ transferP10: quantile(times, 0.1), transferMedian: quantile(times, 0.5) },
      gbPerSecond: Number.isNaN(factor)
        ? null
        : { p10: quantile(speeds, 0.1), median: quantile(speeds, 0.5) },
    };
  });
  return rows.sort((a, b) => b.transferMedian * b.instances - a.transferMedian * a.instances);
}

const needsSize = (kind: CollectiveKind) => busFactor(kind, 2) !== busFactor(kind, 4);
