/** Random numbers that are the same in every run, so that the same files give the same answer. */
export class Random {
  private state: number;

  constructor(seed: number) {
    this.state = seed >>> 0;
  }

  /** Uniform in [0, 1): mulberry32. */
  next(): number {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let t = this.state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }

  /** An integer in [0, below). */
  below(below: number): number {
    return Math.floor(this.next() * below);
  }

  /** Standard normal (Box–Muller). */
  normal(): number {
    return Math.sqrt(-2 * Math.log(1 - this.next())) * Math.cos(2 * Math.PI * this.next());
  }

  /**
   * √(df / χ²): a normal value times this has Student's t distribution. It stands for a standard deviation that is itself
   * only estimated, from `df` + 1 values. 1 for an infinite `df`.
   */
  studentScale(df: number): number {
    return Number.isFinite(df) ? Math.sqrt(df / (2 * this.gamma(df / 2))) : 1;
  }

  /** Marsaglia and Tsang 2000. */
  private gamma(shape: number): number {
    if (shape < 1) return this.gamma(shape + 1) * (1 - this.next()) ** (1 / shape);
    const d = shape - 1 / 3;
    const c = 1 / Math.sqrt(9 * d);
    for (;;) {
      const x = this.normal();
      const v = (1 + c * x) ** 3;
      if (v > 0 && Math.log(1 - this.next()) < 0.5 * x * x + d - d * v + d * Math.log(v)) return d * v;
    }
  }
}
