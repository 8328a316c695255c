import { hostOf } from './layout.js';
import type { Settings } from './options.js';
import { hash01 } from './random.js';

/** A host's clock, which all its ranks read. */
export interface Clock {
  readonly host: number;
  readonly offsetUs: number;
  readonly driftPpm: number;
}

/** Keeps every clock above zero at the start. */
const START_US = 1_000_000;

export function clockOf(settings: Settings, rank: number): Clock {
  const host = hostOf(settings, rank);
  const { offsetUsPerHost, driftPpm } = settings.clock;
  const within = (limit: number, key: number) => limit * (2 * hash01(settings.seed, host, key) - 1);
  return { host, offsetUs: within(offsetUsPerHost, 11), driftPpm: within(driftPpm, 12) };
}

/** True µs from the beginning of the simulation to µs in the file. */
export function shown(clock: Clock, us: number): number {
  return START_US + (us + clock.offsetUs) * (1 + clock.driftPpm / 1e6);
}

/** The inverse: µs in the file to true µs. */
export function trueUs(clock: Clock, us: number): number {
  return (us - START_US) / (1 + clock.driftPpm / 1e6) - clock.offsetUs;
}
