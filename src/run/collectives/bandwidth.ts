import { groupBy } from '../../base/group-by.js';
import { median, mediansOfOthers, quantile } from '../../base/statistics.js';
import { type Bytes, bytes, type Ns, ns } from '../../base/units.js';
import { COLLECTIVE_KINDS, type CollectiveKind } from '../../facts/rank-collectives.js';
import { isWhole, type MatchedCollectives } from './matched.js';

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

/** A group whose transfers take longer than those of its siblings. */
export interface SlowGroup {
  /** Index in `MatchedCollectives.groups`. */
  readonly group: number;
  readonly kind: string;
  readonly gbps: number;
  readonly usualGbps: number;
  /** What its siblings take, as a share of what it takes. */
  readonly usualShare: number;
  /** Time per step beyond its siblings. */
  readonly cost: Ns;
}

/** A slow group takes this many times as long as its siblings. Those of healthy groups differ by a few percent. */
export const SLOWER = 1.5;
/** The least cost worth naming, as a share of the step. Our choice. */
const LEAST_COST = 0.02;

/** Groups along one mesh axis have ranks the same distance apart. Groups along another axis may cross hosts. */
function strideOf(matched: MatchedCollectives, group: number): number {
  const [first, second] = matched.groups[group]!.captured.map((index) => matched.ranks[index]!);
  return second === undefined ? 0 : second - first!;
}

/** Siblings are groups of the same size and stride that run the same kind of collective on about as many bytes. */
export function findSlowLinks(
  matched: MatchedCollectives,
  bandwidth: readonly Bandwidth[],
  step: Ns,
  steps: number,
): SlowGroup[] {
  const families = groupBy(
    bandwidth.filter((b) => isWhole(matched.groups[b.group]!)),
    (b) => `${b.kind} ${b.fromBytes} ${matched.groups[b.group]!.size} ${strideOf(matched, b.group)}`,
  );
  const slow = [...families.values()].flatMap((family) => {
    const others = mediansOfOthers(family.map((b) => b.transferMedian));
    return family.flatMap((b, i): SlowGroup[] => {
      const usual = others[i]!;
      const cost = ns(((b.transferMedian - usual) * b.instances) / steps);
      // Without siblings `usual` is NaN.
      if (!(b.transferMedian >= SLOWER * usual && cost >= LEAST_COST * step)) return [];
      const gbps = b.gbPerSecond ?? Number.NaN;
      const usualGbps = (gbps * b.transferMedian) / usual;
      return [{ group: b.group, kind: b.kind, gbps, usualGbps, usualShare: usual / b.transferMedian, cost }];
    });
  });
  // One row per group: the kind that costs most.
  const byGroup = groupBy(
    slow.sort((a, b) => b.cost - a.cost),
    (s) => s.group,
  );
  return [...byGroup.values()].map(([worst]) => worst!);
}
