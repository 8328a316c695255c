import type { IncidentCause } from '../../model/incident.js';
import { RateWatch } from '../detect/rate-watch.js';

/** Pauses that cost more of the time than this are worth an incident. */
const LEAST_SHARE = 0.02;
/** A pause shorter than this share of a step is part of it. */
const LEAST_PAUSE = 0.25;
const MOST_NAMES = 8;
const KEPT = 256;
/** What is not outside the steps: the steps themselves take longer now and then. */
const IN_STEPS = '';

interface Kind {
  readonly rate: RateWatch;
  /** The latest opportunities: what each cost. */
  readonly costs: number[];
}

/** Pauses came more often since a while. */
export interface Paused {
  readonly age: number;
  readonly events: number;
  readonly name: string;
  readonly cause: IncidentCause;
  /** ms per step, before and since. */
  readonly usual: number;
  readonly cost: number;
  /** Steps between them. */
  readonly every: number;
  readonly each: number;
}

/** Follows what happens now and then: saves, evaluations, garbage collections, and pauses nobody knows the reason of. */
export class PauseWatch {
  readonly #falseAlarm: number;
  #kinds = new Map<string, Kind>();
  #outside = new Map<string, number>();
  readonly #times: { steps: number; ms: number }[] = [];
  #seen = 0;

  constructor(falseAlarm: number) {
    this.#falseAlarm = falseAlarm / MOST_NAMES;
  }

  restart(): void {
    this.#kinds = new Map();
    this.#outside = new Map();
    this.#times.length = 0;
    this.#seen = 0;
  }

  /** The pace has changed: what took longer before that was the new pace already. */
  paceChanged(): void {
    this.#kinds.get(IN_STEPS)?.rate.settle();
  }

  collect(outside: ReadonlyMap<string, number>): void {
    for (const [name, ms] of outside) this.#outside.set(name, (this.#outside.get(name) ?? 0) + ms);
  }

  /** One opportunity: `steps` that took `ms`, `pause` of it more than usual. */
  judge(steps: number, ms: number, pause: number, usual: number): Paused | null {
    if (Number.isNaN(usual)) {
      this.#outside.clear();
      return null;
    }
    this.#times.push({ steps, ms });
    if (this.#times.length > KEPT) this.#times.shift();
    const costs = new Map([...this.#outside, [IN_STEPS, pause] as const]);
    this.#outside.clear();
    for (const name of costs.keys())
      if (!this.#kinds.has(name) && this.#kinds.size < MOST_NAMES) this.#kinds.set(name, this.#newKind());
    this.#seen++;
    let found: Paused | null = null;
    for (const [name, kind] of this.#kinds) {
      const cost = costs.get(name) ?? 0;
      kind.costs.push(cost);
      if (kind.costs.length > KEPT) kind.costs.shift();
      const change = kind.rate.add(cost >= LEAST_PAUSE * usual);
      if (!change || found) continue;
      const paused = this.#pausedBy(name, kind, Math.min(change.age, kind.costs.length), usual);
      if (paused === null) continue;
      kind.rate.settle();
      found = paused;
    }
    return found;
  }

  /** It did not happen until now. */
  #newKind(): Kind {
    const rate = new RateWatch(this.#falseAlarm);
    for (let i = 0; i < Math.min(this.#seen, 4 * KEPT); i++) rate.add(false);
    return { rate, costs: [] };
  }

  #pausedBy(name: string, { costs }: Kind, age: number, usual: number): Paused | null {
    const since = this.#times.slice(-age);
    const steps = since.reduce((sum, t) => sum + t.steps, 0);
    const ms = since.reduce((sum, t) => sum + t.ms, 0);
    const isPause = (c: number) => c >= LEAST_PAUSE * usual;
    const recent = costs.slice(-age);
    const late = recent.filter(isPause);
    // Most of the steps take longer: that is no pause, but how long they take now.
    const sinceFirst = recent.slice(recent.findIndex(isPause));
    if (name === IN_STEPS && 2 * late.length > sinceFirst.length) return null;
    const between = since.slice(recent.findIndex(isPause) + 1, recent.findLastIndex(isPause) + 1);
    const cost = late.reduce((sum, c) => sum + c, 0);
    if (late.length < 3 || cost < LEAST_SHARE * (name === IN_STEPS ? ms : ms + cost)) return null;
    return {
      age,
      events: late.length,
      name,
      cause: CAUSE_OF[name] ?? 'unknown',
      usual,
      cost: cost / steps,
      every: between.reduce((sum, t) => sum + t.steps, 0) / (late.length - 1),
      each: cost / late.length,
    };
  }
}

const CAUSE_OF: Readonly<Record<string, IncidentCause>> = {
  checkpoint: 'checkpoint',
  evaluation: 'evaluation',
  inference: 'evaluation',
  generation: 'evaluation',
  logging: 'logging',
  gc: 'garbage-collection',
  compile: 'compile',
};
