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

/** A confidence to two decimals. */
export const roundConfidence = (confidence: number) => Math.round(100 * confidence) / 100;
