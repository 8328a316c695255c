/** A number in [0, 1) that depends on its keys alone: the same with and without a fault, in whatever order asked. */
export function hash01(seed: number, a: number, b = 0, c = 0): number {
  let h = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b);
  h = mix(h ^ Math.imul(a + 1, 0xc2b2ae35));
  h = mix(h ^ Math.imul(b + 1, 0x27d4eb2f));
  h = mix(h ^ Math.imul(c + 1, 0x165667b1));
  return h / 0x1_0000_0000;
}

function mix(x: number): number {
  let h = x ^ (x >>> 16);
  h = Math.imul(h, 0x7feb352d);
  h ^= h >>> 15;
  h = Math.imul(h, 0x846ca68b);
  return (h ^ (h >>> 16)) >>> 0;
}

/** Standard normal from two numbers in [0, 1). */
export function normalOf(u: number, v: number): number {
  return Math.sqrt(-2 * Math.log(1 - u)) * Math.cos(2 * Math.PI * v);
}

/** Mulberry32: small, and the same everywhere. */
export class Random {
  #state: number;

  constructor(seed: number, stream: number) {
    this.#state = Math.floor(hash01(seed, stream, 77) * 0x1_0000_0000);
  }

  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 0x1_0000_0000;
  }

  normal(): number {
    return normalOf(this.next(), this.next());
  }

  /** Around 1 with the given relative spread. */
  lognormal(sigma: number): number {
    return Math.exp(sigma * this.normal());
  }
}
