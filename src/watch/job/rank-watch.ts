import { collectiveOf } from '../../logs/phases.js';
import { LevelWatch } from '../detect/level-watch.js';
import { FadingHistory } from '../steps/fading-history.js';
import { PaceLine } from '../steps/pace-line.js';
import type { StepSummary } from '../steps/step-summary.js';

/** What passed on a rank since its last recorded step. ms. */
export interface Gap {
  readonly from: number;
  readonly steps: number;
  /** Between the starts of the two, or the length of the step if starts are not known. */
  readonly raw: number;
  /** Outside steps meanwhile, by name. */
  readonly outside: ReadonlyMap<string, number>;
}

/** A rank that is this share of the step later than before is behind. Less is within what ranks differ by anyway. */
const LEAST_LATENESS = 0.02;

/** One rank of a job that is watched, in bounded memory. */
export class RankWatch {
  readonly lateness: LevelWatch;
  readonly history = new FadingHistory();
  /** Its own time, without waiting for other ranks. */
  readonly line = new PaceLine();
  startedMs = Number.NaN;
  /** How often it has begun. */
  starts = 0;
  latest: StepSummary | null = null;

  constructor(
    readonly rank: number,
    falseAlarm: number,
  ) {
    this.lateness = new LevelWatch({ falseAlarm, least: LEAST_LATENESS });
  }

  restart(startedMs: number): void {
    this.startedMs = startedMs;
    this.latest = null;
    this.lateness.restart();
  }

  /** ms since 1970; NaN: not known. */
  timeOf(step: StepSummary): number {
    return this.startedMs + step.start;
  }

  /** Null for its first step. */
  move(step: StepSummary): Gap | null {
    const before = this.latest;
    this.latest = step;
    if (!before || step.step <= before.step) return null;
    const steps = step.step - before.step;
    const between = step.start - before.start;
    const outside = new Map<string, number>();
    for (const [name, total] of step.outside) {
      const ms = total - (before.outside.get(name) ?? 0);
      if (ms > 0) outside.set(name, ms);
    }
    return { from: before.step, steps, raw: between > 0 ? between : step.whole * steps, outside };
  }
}

export function waitsOf({ phases }: StepSummary): number {
  let waits = 0;
  for (const [name, ms] of phases) if (collectiveOf(name) !== null) waits += ms;
  return waits;
}

/** What the rank did itself: its step without waiting for others. ms. */
export const ownTime = (step: StepSummary): number => Math.max(0, step.whole - waitsOf(step));
