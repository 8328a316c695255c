/** A value counts for at most this many standard deviations, so that no single one decides. */
const REACH = 4;
/** How strongly to bet that the level has changed. Small bets find small changes, large ones find large changes soon. */
const BETS = [0.04, 0.1, 0.25, 0.5, 0.8];
/** Bennett's bound for values of variance 1 that are at most REACH above their mean: the bet is fair on average. */
const PRICE = BETS.map((bet) => (Math.exp(bet * REACH) - 1 - bet * REACH) / REACH ** 2);
/** Makes the weights of all possible beginnings add up to at most 1: the sum of 1 / ((t + 2) ln²(t + 2)) is below 2.2. */
const ALL_BEGINNINGS = 2.2;

interface Bet {
  /** Logarithm of what all bets of this size are worth that began at any time until now. */
  worth: number;
  /** The same of the best one, and when it began. */
  best: number;
  began: number;
}

/**
 * Whether the mean of a series has risen, asked after every value, for as long as the job runs.
 *
 * Each possible beginning of a change gets a part of one unit of money and bets on every value after it that the mean is above
 * 0. While it is not, a bet is fair or loses (Bennett's inequality), so the money together is a supermartingale. It ever reaches 1/α
 * with a probability of at most α (Ville's inequality), however often one looks. What is assumed: values have at most the
 * variance that they were divided by, given what came before.
 */
export class ChangeTest {
  readonly #bets: readonly Bet[] = BETS.map(() => ({
    worth: Number.NEGATIVE_INFINITY,
    best: 0,
    began: 0,
  }));
  #count = 0;

  /** `value`: in long-run standard deviations above the level that it is tested against. */
  add(value: number): void {
    const z = Math.max(-REACH, Math.min(REACH, value));
    const weight = Math.log(1 / (ALL_BEGINNINGS * BETS.length)) - Math.log(this.#count + 2);
    const begins = weight - 2 * Math.log(Math.log(this.#count + 2));
    for (const [i, bet] of this.#bets.entries()) {
      const gain = BETS[i]! * z - PRICE[i]!;
      bet.worth = logSum(bet.worth, begins) + gain;
      if (bet.best <= 0) {
        bet.best = 0;
        bet.began = this.#count;
      }
      bet.best += gain;
    }
    this.#count++;
  }

  /** Logarithm of the evidence for a change. Above ln(1/α): there is one. */
  get evidence(): number {
    let all = Number.NEGATIVE_INFINITY;
    for (const { worth } of this.#bets) all = logSum(all, worth);
    return all;
  }

  /** How many values ago the change most likely began. */
  get age(): number {
    const best = this.#bets.reduce((a, b) => (b.best > a.best ? b : a));
    return this.#count - best.began;
  }
}

function logSum(a: number, b: number): number {
  const [high, low] = a > b ? [a, b] : [b, a];
  return low === Number.NEGATIVE_INFINITY ? high : high + Math.log1p(Math.exp(low - high));
}
