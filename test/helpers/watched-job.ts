import type { Incident } from '../../src/model/incident.js';
import { JobWatch } from '../../src/watch/job/job-watch.js';

/** What a rank spends in one step, ms. */
export interface SimulatedStep {
  readonly data?: number;
  readonly forward?: number;
  readonly backward?: number;
  readonly optimizer?: number;
  readonly other?: number;
}

export interface SimulatedJob {
  readonly steps: number;
  readonly ranks?: number;
  /** Only every so many steps are recorded. */
  readonly stride?: number;
  /** Relative noise of a step. */
  readonly noise?: number;
  readonly seed?: number;
  readonly of?: (step: number, rank: number) => SimulatedStep;
  /** Outside steps, before this one: phase and ms. */
  readonly outside?: (step: number) => readonly (readonly [name: string, ms: number])[];
  /** The job begins anew at these steps. */
  readonly restarts?: readonly number[];
}

/** The same numbers on every machine. */
export function randomNormal(seed: number): () => number {
  let state = seed >>> 0;
  const uniform = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return (((t ^ (t >>> 14)) >>> 0) + 0.5) / 4294967296;
  };
  return () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform());
}

const USUAL = { data: 2, forward: 30, backward: 60, optimizer: 6, other: 2 };

/** Runs a synchronous job through a watch, without files. Returns the incidents in their last version. */
export function watchSimulated(job: SimulatedJob): readonly Incident[] {
  const {
    steps,
    ranks = 1,
    stride = 10,
    noise = 0.02,
    seed = 1,
    of = () => ({}),
    outside,
    restarts = [],
  } = job;
  const random = randomNormal(seed);
  const watch = new JobWatch();
  for (let rank = 0; rank < ranks; rank++) watch.join(rank);
  const begin = (at: number) => {
    for (let rank = 0; rank < ranks; rank++)
      watch.begin(rank, { run: 'simulated', startedNs: 1.8e18 + at * 1e6, worldSize: ranks });
  };
  begin(0);
  let [start, spent] = [0, new Map<string, number>()];
  for (let step = 0; step < steps; step++) {
    if (restarts.includes(step)) {
      begin(start);
      [start, spent] = [0, new Map()];
    }
    for (const [name, ms] of outside?.(step) ?? []) {
      spent.set(name, (spent.get(name) ?? 0) + ms);
      start += ms;
    }
    const own = Array.from({ length: ranks }, (_, rank) => {
      const factor = Math.exp(noise * random());
      const parts = { ...USUAL, ...of(step, rank) };
      return Object.fromEntries(Object.entries(parts).map(([name, ms]) => [name, ms * factor]));
    });
    const totals = own.map((parts) => Object.values(parts).reduce((a, b) => a! + b!, 0)!);
    const whole = totals.reduce((a, b) => Math.max(a, b));
    for (let rank = 0; step % stride === 0 && rank < ranks; rank++) {
      const { data, forward, backward, optimizer } = own[rank]!;
      const phases = new Map([
        ['data_wait', data!],
        ['forward', forward!],
        ['backward', backward!],
        ['optimizer', optimizer!],
      ]);
      if (ranks > 1) phases.set('collective:all_reduce', whole - totals[rank]!);
      watch.step(rank, { step, start, whole, phases, outside: new Map(spent), disturbed: false });
    }
    start += whole;
  }
  watch.flush();
  return watch.incidents;
}
