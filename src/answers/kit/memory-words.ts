import { bytes, formatBytes, formatWholePercent, share } from '../../base/units.js';
import type { MemoryKind, RankMemory } from '../../diagnosis/run-evidence.js';

export const size = (n: number): string => formatBytes(bytes(Math.round(n)));

/** `activations hold 61%, optimizer state 20%`. */
export function partsInWords({ facts: { at } }: RankMemory): string {
  const [first, ...others] = at.parts
    .filter((p) => p.bytes >= LEAST_SHARE * at.allocated)
    .slice(0, MOST_PARTS);
  if (!first || first.kind === UNKNOWN) return '';
  const part = (n: number) => formatWholePercent(share(n / at.allocated));
  return [`${first.kind} hold ${part(first.bytes)}`, ...others.map((p) => `${p.kind} ${part(p.bytes)}`)].join(
    ', ',
  );
}

const UNKNOWN: MemoryKind = 'from before the recording';
const LEAST_SHARE = 0.05;
const MOST_PARTS = 4;

/** `rank 1, GPU 1`; empty if there is only one. */
export function gpuName({ rank, facts }: RankMemory, all: readonly RankMemory[]): string {
  if (all.length < 2) return '';
  return rank === null ? `GPU ${facts.device}` : `rank ${rank}`;
}

/** What failed, or how much is needed, in one clause. */
export function memoryInWords(memory: RankMemory, all: readonly RankMemory[]): string {
  const { at, oom, peak } = memory.facts;
  const who = gpuName(memory, all);
  const on = who && ` on ${who}`;
  const known = partsInWords(memory);
  const parts = known || 'nothing recorded what holds it';
  if (!oom) return `the peak${on} is ${size(peak)} (${size(at.reserved)} reserved): ${parts}`;
  const free = oom.deviceFree === null ? '' : `, ${size(oom.deviceFree)} free on the device`;
  const unused = at.reserved - at.allocated;
  return `an allocation of ${size(oom.asked)}${on} failed: ${size(at.allocated)} in use, ${size(unused)} reserved but unused${free}; ${parts}`;
}

/** The GPU to look at: one that ran out, or the fullest. */
export const fullest = (all: readonly RankMemory[]): RankMemory | null =>
  all.toSorted(
    (a, b) => Number(b.facts.oom !== null) - Number(a.facts.oom !== null) || b.facts.peak - a.facts.peak,
  )[0] ?? null;
