import { join } from 'node:path';
import { median } from '../base/statistics.js';
import { compareTurns, type Turn } from '../compare/step-times/compare-turns.js';
import type { StepComparison } from '../compare/step-times/step-comparison.js';
import type { PlannedFix } from './plan.js';
import type { TurnEnd, TurnSettings } from './run-turn.js';

export interface DoneTurn {
  /** Ids joined by ` + `; null as it is. */
  readonly variant: string | null;
  readonly end: TurnEnd;
}

export interface SessionOptions {
  readonly turn: Omit<TurnSettings, 'folder' | 'fixes' | 'record' | 'keepLog'>;
  /** For the folders of turns. */
  readonly scratch: string;
  /** For the output of turns that fail. */
  readonly logs: string;
  /** On the performance clock, ms. No turn begins that would end later. */
  readonly until: number;
  /** Every fix gets up to this many turns, as the budget allows. */
  readonly rounds: number;
  readonly onTurn: (what: string, number: number) => void;
  readonly runTurn: (settings: TurnSettings) => Promise<TurnEnd>;
}

/** Without a second round nobody knows how much turns of the same kind differ. */
const WANTED_ROUNDS = 2;

export const together = (ids: readonly string[]) => ids.join(' + ');

/** Takes turns: as it is, a fix, as it is, the next. Keeps what every turn gave. */
export class Session {
  readonly turns: DoneTurn[] = [];
  /** Something ended it early. */
  stopped: 'interrupted' | 'budget' | 'broken' | null = null;
  readonly #options: SessionOptions;
  #lastWasAsItIs = false;
  #seconds: number[] = [];

  constructor(options: SessionOptions) {
    this.#options = options;
  }

  /** All fixes once, then those worth it together, then again those that are still open. */
  async run(plan: readonly PlannedFix[]): Promise<void> {
    const all = plan.map(({ fix }) => [fix.id]);
    await this.#round(all);
    const combination = this.#combination(plan);
    if (combination.length > 1) await this.#round([combination]);
    for (let round = 2; round <= this.#options.rounds; round++) {
      const open = [...all, ...(combination.length > 1 ? [combination] : [])].filter((ids) =>
        this.#isOpen(together(ids), round),
      );
      await this.#round(open);
    }
  }

  comparisons(): ReadonlyMap<string, StepComparison> {
    return compareTurns(
      this.turns.flatMap(({ variant, end }): Turn[] =>
        end.kind === 'measured'
          ? [{ variant: foundSomething(end) ? variant : null, steps: end.ranks[0]!.stepMs }]
          : [],
      ),
    );
  }

  endsOf(variant: string | null): readonly TurnEnd[] {
    return this.turns.filter((turn) => turn.variant === variant).map((turn) => turn.end);
  }

  async #round(variants: readonly (readonly string[])[]): Promise<void> {
    for (const ids of variants) {
      if (this.stopped) return;
      if (!this.#lastWasAsItIs) await this.#take([]);
      await this.#take(ids);
    }
    if (variants.length > 0 && !this.#lastWasAsItIs) await this.#take([]);
  }

  /** Worth another turn: it was measured, and it either helps or is inconclusive so far. */
  #isOpen(variant: string, round: number): boolean {
    const ends = this.endsOf(variant);
    if (ends.length === 0 || ends.some((end) => end.kind !== 'measured' || !foundSomething(end)))
      return false;
    const verdict = this.comparisons().get(variant)?.verdict;
    return round <= WANTED_ROUNDS ? verdict !== 'slower' : verdict === 'cannot-tell';
  }

  /** The fixes that helped, the better one of those that exclude each other. */
  #combination(plan: readonly PlannedFix[]): readonly string[] {
    const gains = this.comparisons();
    const helpful = plan
      .map(({ fix }) => ({ fix, gain: gains.get(fix.id) }))
      .filter(({ fix, gain }) => gain?.verdict === 'faster' && this.endsOf(fix.id).every(foundSomething))
      .sort((a, b) => b.gain!.speedup.likely - a.gain!.speedup.likely);
    const taken = helpful.filter(
      ({ fix }, i) => !fix.group || !helpful.slice(0, i).some((better) => better.fix.group === fix.group),
    );
    const order = plan.map(({ fix }) => fix.id);
    return taken.map(({ fix }) => fix.id).sort((a, b) => order.indexOf(a) - order.indexOf(b));
  }

  async #take(fixes: readonly string[]): Promise<void> {
    if (this.stopped || !this.#fits()) return;
    const { turn, scratch, logs, onTurn, runTurn } = this.#options;
    const variant = fixes.length > 0 ? together(fixes) : null;
    onTurn(variant ?? 'as it is', this.turns.length + 1);
    const name = `turn-${this.turns.length + 1}`;
    const keepLog = join(logs, `${name}.log`);
    const end = await runTurn({ ...turn, folder: join(scratch, name), fixes, record: null, keepLog });
    this.turns.push({ variant, end });
    this.#seconds.push(end.seconds);
    // After a turn that measured nothing, the last unchanged turn is still next to the next fix.
    // One in which a fix found nothing to change was the job as it is.
    if (end.kind === 'measured') this.#lastWasAsItIs = variant === null || !foundSomething(end);
    if (end.kind === 'interrupted') this.stopped = 'interrupted';
    else if (variant === null && end.kind !== 'measured') this.stopped = 'broken';
  }

  #fits(): boolean {
    const next = this.#seconds.length === 0 ? 0 : median(this.#seconds) * 1000;
    if (performance.now() + next <= this.#options.until) return true;
    this.stopped = 'budget';
    return false;
  }
}

/** Whether the fixes of a turn have changed anything. */
export const foundSomething = (end: TurnEnd): boolean =>
  end.kind !== 'measured' || Object.keys(end.ranks[0]!.applied).length > 0;
