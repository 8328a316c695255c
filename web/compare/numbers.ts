/** `+5.0%`, `−12.4%`, `0%`. */
export function signedPercent(part: number): string {
  const percent = 100 * part;
  if (Math.abs(percent) < 0.05) return '0%';
  return `${percent < 0 ? '−' : '+'}${Math.abs(percent).toFixed(Math.abs(percent) >= 100 ? 0 : 1)}%`;
}
