interface Phase {
  step: number;
  /** The first micro-step seen in this step; the rest is in `micros`, which most files never need. */
  micro: number;
  micros: Set<number> | null;
  /** Of the latest record; NaN unknown. */
  start: number;
}

/**
 * What one rank has written in its present run: tells when its steps go back, and which records repeat.
 *
 * "Back" is per phase, or below the first step of the run: a writer that flushes phase by phase (all `forward`, then
 * all `backward`) jumps back between phases without having restarted. It follows that a restart is seen one record
 * late for each phase that the earlier run did not have and that comes first.
 *
 * Steps of a phase do not decrease without being noticed, so a duplicate can only be of the phase's latest step, and
 * memory is one entry a phase however long the file is.
 */
export class RankHistory {
  /** Which run of its section the rank is in. */
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
   * True when the phase was already there with this step and micro-step. Known to have begun at another time it is
   * another wait or call of the same name, not a repetition.
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
