import { groupBy } from '../../base/group-by.js';
import { median, quantile } from '../../base/statistics.js';
import { type Bytes, bytes, type Ns, ns } from '../../base/units.js';
import { COLLECTIVE_KINDS, type CollectiveKind } from '../../facts/rank-collectives.js';
import type { MatchedCollectives } from './matched.js';

/** How fast collectives of one group, kind and size were, without waiting. */
export interface Bandwidth {
  /** Index in `MatchedCollectives.groups`. */
  readonly group: number;
  readonly kind: CollectiveKind;
  /** Sizes from this up to four times it. */
  readonly fromBytes: Bytes;
  readonly instances: number;
  readonly transferP10: Ns;
  readonly transferMedian: Ns;
  /** Median bus bandwidth. Null: there is no formula, or the size of the group is unknown. */
  readonly gbPerSecond: number | null;
}

/** Bytes on the bus for each byte of a collective in a group of n ranks, as nccl-tests counts them. NaN: no formula. */
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

/** Sizes within a factor of four are counted together. */
const SIZE_BUCKET = 4;

/** `transfer`: ns of each instance, from `divideWaits`. Most time first. */
export function measureBandwidth(matched: MatchedCollectives, transfer: Float64Array): Bandwidth[] {
  const bucketOf = (i: number) => Math.floor(Math.log(matched.bytes[i]!) / Math.log(SIZE_BUCKET) + 1e-9);
  const measured = [...transfer.keys()].filter((i) => !Number.isNaN(transfer[i]!) && matched.bytes[i]! > 0);
  const alike = groupBy(measured, (i) => `${matched.group[i]} ${matched.kind[i]} ${bucketOf(i)}`);
  const rows = [...alike.values()].map((instances): Bandwidth => {
    const first = instances[0]!;
    const [group, kind] = [matched.group[first]!, COLLECTIVE_KINDS[matched.kind[first]!]!];
    const times = instances.map((i) => ns(transfer[i]!));
    const factor = busFactor(kind, needsSize(kind) ? (matched.groups[group]!.size ?? Number.NaN) : 2);
    // A byte per nanosecond is a GB/s.
    const speeds = instances.map((i) => (factor * matched.bytes[i]!) / transfer[i]!);
    return {
      group,
      kind,
      fromBytes: bytes(SIZE_BUCKET ** bucketOf(first)),
      instances: instances.length,
      transferP10: quantile(times, 0.1),
      transferMedian: median(times),
      gbPerSecond: Number.isNaN(factor) ? null : median(speeds),
    };
  });
  return rows.sort((a, b) => b.transferMedian * b.instances - a.transferMedian * a.instances);
}

const needsSize = (kind: CollectiveKind) => busFactor(kind, 2) !== busFactor(kind, 4);
