/** Probability of `k` or more successes in `n` tries that each succeed with probability `p`. */
export function binomialTail(n: number, k: number, p: number): number {
  let sum = 0;
  for (let i = k; i <= n; i++) sum += Math.exp(logChoose(n, i) + i * Math.log(p) + (n - i) * Math.log1p(-p));
  return Math.min(1, sum);
}

/** Logarithm of "n choose k". */
export function logChoose(n: number, k: number): number {
  let sum = 0;
  for (let i = 1; i <= k; i++) sum += Math.log((n - k + i) / i);
  return sum;
}

/** With more values the exact count takes long, and the normal curve is as good. */
const MOST_COUNTED = 40;

/**
 * Wilcoxon's signed-rank test: the probability that values, which chance makes positive or negative alike, lie as far above 0
 * as these. Ten clear delays outweigh one step in which it was the other way round by little.
 */
export function signedRankTail(values: readonly number[]): number {
  const sizes = values.filter((v) => v !== 0).toSorted((a, b) => Math.abs(a) - Math.abs(b));
  const n = sizes.length;
  const above = sizes.reduce((sum, v, i) => sum + (v > 0 ? i + 1 : 0), 0);
  const most = (n * (n + 1)) / 2;
  if (n > MOST_COUNTED) {
    const deviation = Math.sqrt((most * (2 * n + 1)) / 12);
    return normalTail((above - 0.5 - most / 2) / deviation);
  }
  // How many of the 2ⁿ signs give each sum of ranks.
  const ways = new Float64Array(most + 1);
  ways[0] = 1;
  for (let rank = 1; rank <= n; rank++)
    for (let sum = most; sum >= rank; sum--) ways[sum]! += ways[sum - rank]!;
  return ways.slice(above).reduce((sum, w) => sum + w, 0) / 2 ** n;
}

/** Probability of a standard normal value above `z` (Abramowitz and Stegun 26.2.17, within 1e-7). */
function normalTail(z: number): number {
  if (z < 0) return 1 - normalTail(-z);
  const t = 1 / (1 + 0.2316419 * z);
  const series =
    t * (0.31938153 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))));
  return (series * Math.exp((-z * z) / 2)) / Math.sqrt(2 * Math.PI);
}

/** A confidence to two decimals. */
export const roundConfidence = (confidence: number) => Math.round(100 * confidence) / 100;
