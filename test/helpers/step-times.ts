import type { Random } from '../../src/compare/step-times/random.js';

/** Simulated step times around 100 ms, to know how often a comparison is wrong. */
export interface Simulation {
  readonly name: string;
  /** Step times of `count` steps in a row on one machine. */
  readonly steps: (count: number, random: Random) => number[];
}

const STEP = 100;

/** Each step: the machine's slow state, times noise that the next step does not remember. */
function simulation(
  name: string,
  noise: number,
  stateOf: (count: number, random: Random) => (i: number) => number,
): Simulation {
  return {
    name,
    steps: (count, random) => {
      const state = stateOf(count, random);
      return Array.from({ length: count }, (_, i) => STEP * state(i) * Math.exp(noise * random.normal()));
    },
  };
}

/** A state that forgets with e^(−1/memory) per step and spreads by `deviation`. */
function remembering(deviation: number, memory: (count: number) => number) {
  return (count: number, random: Random) => {
    const keep = Math.exp(-1 / memory(count));
    let state = deviation * random.normal();
    return () => {
      state = keep * state + Math.sqrt(1 - keep ** 2) * deviation * random.normal();
      return 1 + state;
    };
  };
}

const steady = () => () => 1;

/** `count` is of both sides together: drifts go on from one side to the other. */
export const SIMULATIONS: readonly Simulation[] = [
  simulation('independent steps, 5% noise', 0.05, steady),
  simulation('independent steps, 10% noise', 0.1, steady),
  simulation('10% noise, and runs differ by 0.75%', 0.1, (count, random) => {
    const runs = [1, 2].map(() => 1 + 0.0075 * random.normal());
    return (i) => runs[i < count / 2 ? 0 : 1]!;
  }),
  simulation('long tail, 30% noise', 0.3, steady),
  simulation(
    'correlated over 5 steps',
    0.03,
    remembering(0.05, () => 5),
  ),
  simulation(
    'correlated over 20 steps',
    0.03,
    remembering(0.03, () => 20),
  ),
  simulation(
    'wandering over an eighth of the run',
    0.03,
    remembering(0.02, (n) => n / 8),
  ),
  simulation(
    'wandering over the whole run',
    0.03,
    remembering(0.02, (n) => n),
  ),
  simulation('drifting 4% in one direction', 0.03, (count, random) => {
    const slope = random.next() < 0.5 ? 0.04 : -0.04;
    return (i) => 1 + (slope * i) / count;
  }),
  simulation('random walk', 0.03, (count, random) => {
    let state = 1;
    return () => (state += (0.02 * random.normal()) / Math.sqrt(count));
  }),
  simulation('waves', 0.03, (count, random) => {
    const period = count * (0.2 + 1.8 * random.next());
    const phase = random.next();
    return (i) => 1 + 0.02 * Math.sin(2 * Math.PI * (i / period + phase));
  }),
  simulation('a neighbor for a tenth of the time', 0.03, (count, random) => {
    const from = random.next() * 0.9 * count;
    return (i) => (i >= from && i < from + count / 10 ? 1.1 : 1);
  }),
  simulation('input in bursts, every eighth step', 0.05, (_, random) => {
    const first = random.below(8);
    return (i) => (i % 8 === first ? 4 : 0.7);
  }),
  simulation('rare stalls of seconds', 0.05, (_, random) => () => (random.next() < 0.004 ? 20 : 1)),
];
