/** Values farther from the middle count as this far (in standard deviations): a pause must not move the level. */
const CLIP = 4;
/** Lengths of blocks, in values. The longest show how far the level wanders by itself. */
const SCALES = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];
/** Fewer blocks do not show how much blocks differ. */
const LEAST_BLOCKS = 6;
/** More values than these make the level no more certain than it needs to be, and the job would drift away from them. */
const MOST = 4096;

/** A job wanders most over times that were not yet seen: so many times more at first, fading with the root of the count. */
const UNSEEN = 3;

interface Scale {
  readonly length: number;
  sum: number;
  filled: number;
  blocks: number;
  mean: number;
  squares: number;
}

/**
 * The usual level of a series and how far it wanders, in constant memory. Step times are not independent: a shared machine is
 * slower for seconds at a time. So the variance is the long-run one: the largest of blocks of any length, times that length.
 */
export class Noise {
  readonly #scales: readonly Scale[] = SCALES.map((length) => ({
    length,
    sum: 0,
    filled: 0,
    blocks: 0,
    mean: 0,
    squares: 0,
  }));
  #count = 0;
  #mean: number;
  /** Of one value. */
  #deviation: number;

  /** `floor`: the smallest deviation that is believed. */
  constructor(
    middle: number,
    deviation: number,
    readonly floor: number,
  ) {
    this.#mean = middle;
    this.#deviation = Math.max(floor, deviation);
  }

  get count(): number {
    return this.#count;
  }
  get mean(): number {
    return this.#mean;
  }
  /** Of one value, whatever follows it. */
  get deviation(): number {
    return this.#deviation;
  }

  add(value: number): void {
    if (this.#count >= MOST) return;
    const reach = CLIP * this.#deviation;
    const kept = Math.min(this.#mean + reach, Math.max(this.#mean - reach, value));
    for (const scale of this.#scales) addTo(scale, kept);
    const ones = this.#scales[0]!;
    this.#count++;
    // The first guesses come from a few values. They fade as there are more.
    this.#mean += (kept - this.#mean) / this.#count;
    if (ones.blocks >= LEAST_BLOCKS)
      this.#deviation = Math.max(this.floor, Math.sqrt(ones.squares / (ones.blocks - 1)));
  }

  /** As if values were independent, how far each would vary to explain what longest blocks do. */
  get longRun(): number {
    let variance = this.#deviation ** 2;
    for (const { length, blocks, squares } of this.#scales) {
      if (blocks < LEAST_BLOCKS) continue;
      // With few blocks it is not certain how far they differ: one standard error of a variance more.
      const uncertain = 1 + Math.sqrt(2 / blocks);
      variance = Math.max(variance, length * (squares / (blocks - 1)) * uncertain);
    }
    return Math.sqrt(variance);
  }

  /** The same, with what may not have been seen yet. */
  get believed(): number {
    return this.longRun * (1 + UNSEEN / Math.sqrt(Math.max(1, this.#count)));
  }

  /** The standard error of the level. */
  get error(): number {
    return this.longRun / Math.sqrt(Math.max(1, this.#count));
  }
}

function addTo(scale: Scale, value: number): void {
  scale.sum += value;
  if (++scale.filled < scale.length) return;
  const block = scale.sum / scale.length;
  scale.sum = 0;
  scale.filled = 0;
  scale.blocks++;
  const before = block - scale.mean;
  scale.mean += before / scale.blocks;
  scale.squares += before * (block - scale.mean);
}
