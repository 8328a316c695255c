import type { CaseScore, Confidence } from './score.js';

/** Lower ends of the buckets of stated confidence. */
const BUCKETS = [0.9, 0.8, 0.7, 0.6, 0.5, 0] as const;

/** How often answers of each stated confidence are right: `verdict 0.90–1.00: 40 of 40`. */
export function confidenceTable(scores: readonly CaseScore[]): string {
  const all = scores.flatMap((s) => s.confidences);
  return (['verdict', 'finding'] as const)
    .flatMap((of) => BUCKETS.map((from, i) => bucketRow(all, of, from, BUCKETS[i - 1] ?? 1.01)))
    .filter((row) => row !== null)
    .join('\n');
}

function bucketRow(
  all: readonly Confidence[],
  of: Confidence['of'],
  from: number,
  to: number,
): string | null {
  const those = all.filter((c) => c.of === of && c.said >= from && c.said < to);
  if (those.length === 0) return null;
  const said = those.reduce((sum, c) => sum + c.said, 0) / those.length;
  return `${of} ${from.toFixed(1)}–${Math.min(1, to).toFixed(1)}: stated ${said.toFixed(2)}, right ${those.filter((c) => c.right).length} of ${those.length}`;
}
