interface Phase {
  step: number;
  /** The first micro-step seen in this step. Others are in `micros`, which most files never need. */
  micro: number;
  micros: Set<number> | null;
  /** Of the latest record; NaN unknown. */
  start: number;
}

/**
 * What one rank has written in its current run. Finds steps that go back and records that repeat.
 *
 * A step goes back if it is below the last step of its phase, or below the first step of the run. It is judged per phase
 * because a writer that flushes phase by phase (all `forward`, then all `backward`) jumps back between phases without a
 * restart. So a restart is seen one record late for each leading phase that the earlier run did not have.
 *
 * Steps of a phase never decrease unnoticed, so a duplicate can only be of the phase's latest step. Memory is one entry per
 * phase, however long the file is.
 */
export class RankHistory {
  /** Index of the rank's current run in its section. */
  run = 0;
  #firstStep: number;
  #phases = new Map<number, Phase>();

  constructor(firstStep: number) {
    this.#firstStep = firstStep;
  }

  isBack(name: number, step: number): boolean {
    const phase = this.#phases.get(name);
    return step < (phase === undefined ? this.#firstStep : phase.step);
  }

  restart(run: number, firstStep: number): void {
    this.run = run;
    this.#firstStep = firstStep;
    this.#phases = new Map();
  }

  /**
   * True when the phase was already there with this step and micro-step. A record with a later start is another wait or
   * call of the same name, not a duplicate.
   */
  note(name: number, step: number, micro: number, start: number): boolean {
    const phase = this.#phases.get(name);
    if (phase === undefined) {
      this.#phases.set(name, { step, micro, micros: null, start });
      return false;
    }
    if (phase.step !== step) {
      phase.step = step;
      phase.micro = micro;
      phase.micros?.clear();
      phase.start = start;
      return false;
    }
    const isLater = start > phase.start;
    phase.start = start;
    if (isLater) return false;
    if (phase.micro === micro || phase.micros?.has(micro)) return true;
    phase.micros ??= new Set();
    phase.micros.add(micro);
    return false;
  }
}
