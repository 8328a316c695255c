import { formatNumber } from './units.js';

/** More ranges than these cannot be read in a sentence. */
const MAX_RANGES = 24;
const SHOWN_RANGES = 8;

/** Numbers as ranges: `0–7, 12`. Of many ranges the first: `0, 2, 4–11, … (2,311 in all)`. */
export function formatRanks(ranks: readonly number[]): string {
  const parts = rangesOf(ranks);
  if (parts.length <= MAX_RANGES) return parts.join(', ');
  return `${parts.slice(0, SHOWN_RANGES).join(', ')}, … (${formatNumber(ranks.length)} in all)`;
}

function rangesOf(ranks: readonly number[]): readonly string[] {
  const sorted = [...ranks].sort((a, b) => a - b);
  const parts: string[] = [];
  for (let i = 0; i < sorted.length; ) {
    let j = i;
    while (sorted[j + 1] === sorted[j]! + 1) j++;
    parts.push(j > i ? `${sorted[i]}–${sorted[j]}` : `${sorted[i]}`);
    i = j + 1;
  }
  return parts;
}

/** `rank 5`, `ranks 0–3, 7`. */
export function namedRanks(ranks: readonly number[]): string {
  return `${ranks.length === 1 ? 'rank' : 'ranks'} ${formatRanks(ranks)}`;
}
