import { join } from 'node:path';
import { largest, median } from '../base/statistics.js';
import { compareTurns, type Turn } from '../compare/step-times/compare-turns.js';
import type { StepComparison } from '../compare/step-times/step-comparison.js';
import type { RemedyId } from '../remedies/fixes/list.js';
import { type Change, variantOf } from './change.js';
import type { PlannedFix } from './plan.js';
import { numberUsed, type RankResult } from './rank-result.js';
import type { TurnEnd, TurnSettings } from './run-turn.js';
import { bestNumber, nextNumber } from './search.js';

export interface DoneTurn {
  /** None: the job as it is. */
  readonly changes: readonly Change[];
  /** The changes as one text; null as it is. */
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

/** Takes turns: as it is, a fix, as it is, the next. Keeps what every turn gave. */
export class Session {
  readonly turns: DoneTurn[] = [];
  /** Something ended it early. */
  stopped: 'interrupted' | 'budget' | 'broken' | null = null;
  readonly #options: SessionOptions;
  #plan: readonly PlannedFix[] = [];
  #lastWasAsItIs = false;
  #seconds: number[] = [];

  constructor(options: SessionOptions) {
    this.#options = options;
  }

  /** All fixes once, their numbers searched, then those worth it together, then again those that are still open. */
  async run(plan: readonly PlannedFix[]): Promise<void> {
    this.#plan = plan;
    for (const planned of plan) {
      await this.#asItIs();
      await this.#take([this.#first(planned)]);
    }
    await this.#asItIs();
    for (const planned of this.#byGain(plan)) await this.#search(planned);
    const combination = this.#combination(plan);
    if (combination.length > 1) await this.#between([combination]);
    const all = [
      ...plan.map((planned) => [this.chosen(planned)]),
      ...(combination.length > 1 ? [combination] : []),
    ];
    for (let round = 2; round <= this.#options.rounds; round++)
      await this.#between(all.filter((changes) => this.#isOpen(changes, round)));
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

  /** A fix with the best number found so far. */
  chosen(planned: PlannedFix): Change {
    const { id, knob } = planned.fix;
    if (!knob) return { fix: id, value: null };
    const value = bestNumber(this.#gainsOf(id)) ?? this.numbersOf(id)[0] ?? this.#first(planned).value;
    return { fix: id, value };
  }

  /** The numbers with which a fix was tried, in order. */
  numbersOf(fix: RemedyId): readonly number[] {
    const found = this.turns.flatMap(({ changes }) =>
      changes.length === 1 && changes[0]!.fix === fix && changes[0]!.value !== null
        ? [changes[0]!.value]
        : [],
    );
    return [...new Set(found)];
  }

  #first({ fix, advised }: PlannedFix): Change {
    if (!fix.knob) return { fix: fix.id, value: null };
    return { fix: fix.id, value: advised ?? Math.min(fix.knob.start(this.#had(fix.id)), fix.knob.most) };
  }

  /** What the job itself uses. 0: unknown. */
  #had(fix: string): number {
    return this.#asItWas()?.had[fix] ?? 0;
  }

  /** The first turn as it is. */
  #asItWas(): RankResult | undefined {
    return this.endsOf(null).find((end) => end.kind === 'measured')?.ranks[0];
  }

  #gainsOf(fix: RemedyId): ReadonlyMap<number, number | null> {
    const gains = this.comparisons();
    return new Map(
      this.numbersOf(fix).map((value) => [
        value,
        gains.get(variantOf([{ fix, value }]))?.speedup.likely ?? null,
      ]),
    );
  }

  /** The largest gain first, as the budget may not do for all. */
  #byGain(plan: readonly PlannedFix[]): readonly PlannedFix[] {
    const gainOf = ({ fix }: PlannedFix) =>
      largest([0, ...[...this.#gainsOf(fix.id).values()].map((gain) => gain ?? 0)]);
    return plan.filter(({ fix }) => fix.knob).sort((a, b) => gainOf(b) - gainOf(a));
  }

  /** Tries numbers until more of them gain nothing. Those that change nothing, or fail, count as no gain. */
  async #search(planned: PlannedFix): Promise<void> {
    const { id, knob } = planned.fix;
    let took = false;
    let isMade = true;
    // A fix that does not apply with one number does not apply with others.
    while (isMade && !this.stopped && !this.#isRefused(id)) {
      const value = nextNumber({
        start: this.numbersOf(id)[0] ?? this.#first(planned).value!,
        now: knob!.falls ? 0 : this.#had(id),
        most: Math.min(knob!.most, this.#asItWas()?.most[id] ?? knob!.most),
        gains: this.#gainsOf(id),
      });
      if (value === null) break;
      isMade = (await this.#take([{ fix: id, value }])) === value;
      took = true;
    }
    if (took) await this.#asItIs();
  }

  #isRefused(fix: string): boolean {
    const turns = this.turns.filter(({ changes }) => changes.length === 1 && changes[0]!.fix === fix);
    return turns.length > 0 && turns.every(({ end }) => !foundSomething(end));
  }

  async #asItIs(): Promise<void> {
    if (!this.#lastWasAsItIs) await this.#take([]);
  }

  async #between(variants: readonly (readonly Change[])[]): Promise<void> {
    for (const changes of variants) {
      if (this.stopped) return;
      await this.#asItIs();
      await this.#take(changes);
    }
    if (variants.length > 0) await this.#asItIs();
  }

  /** Worth another turn: it was measured, and it either helps or is inconclusive so far. */
  #isOpen(changes: readonly Change[], round: number): boolean {
    const variant = variantOf(changes);
    const ends = this.endsOf(variant);
    if (ends.length === 0 || ends.some((end) => end.kind !== 'measured' || !foundSomething(end)))
      return false;
    const verdict = this.comparisons().get(variant)?.verdict;
    return round <= WANTED_ROUNDS ? verdict !== 'slower' : verdict === 'cannot-tell';
  }

  /** The fixes that helped, the better one of those that exclude each other. */
  #combination(plan: readonly PlannedFix[]): readonly Change[] {
    const gains = this.comparisons();
    const helpful = plan
      .map((planned) => {
        const change = this.chosen(planned);
        return { group: planned.fix.group, change, gain: gains.get(variantOf([change])) };
      })
      .filter(
        ({ change, gain }) =>
          gain?.verdict === 'faster' && this.endsOf(variantOf([change])).every(foundSomething),
      )
      .sort((a, b) => b.gain!.speedup.likely - a.gain!.speedup.likely);
    const taken = helpful.filter(
      ({ group }, i) => !group || !helpful.slice(0, i).some((better) => better.group === group),
    );
    const order = plan.map(({ fix }) => fix.id);
    return taken.map(({ change }) => change).sort((a, b) => order.indexOf(a.fix) - order.indexOf(b.fix));
  }

  /** Returns the number that the last of the changes was made with. Null: there was no turn. */
  async #take(asked: readonly Change[]): Promise<number | null> {
    if (this.stopped || !this.#fits()) return null;
    const { turn, scratch, logs, onTurn, runTurn } = this.#options;
    onTurn(asked.length > 0 ? variantOf(asked) : 'as it is', this.turns.length + 1);
    const name = `turn-${this.turns.length + 1}`;
    const keepLog = join(logs, `${name}.log`);
    const end = await runTurn({ ...turn, folder: join(scratch, name), fixes: asked, record: null, keepLog });
    const changes = asked.map((change) => this.#asMade(change, end));
    const variant = changes.length > 0 ? variantOf(changes) : null;
    this.turns.push({ changes, variant, end });
    this.#seconds.push(end.seconds);
    // After a turn that measured nothing, the last unchanged turn is still next to the next fix.
    // One in which a fix found nothing to change was the job as it is.
    if (end.kind === 'measured') this.#lastWasAsItIs = variant === null || !foundSomething(end);
    if (end.kind === 'interrupted') this.stopped = 'interrupted';
    else if (variant === null && end.kind !== 'measured') this.stopped = 'broken';
    return changes.at(-1)?.value ?? null;
  }

  /** A fix may use a smaller number than it was asked for: one worker for data that no worker splits. */
  #asMade(change: Change, end: TurnEnd): Change {
    const [first] = end.ranks;
    const argument = this.#plan.find(({ fix }) => fix.id === change.fix)?.fix.knob?.argument;
    if (end.kind !== 'measured' || !first || !argument || change.value === null) return change;
    return { ...change, value: Math.min(change.value, numberUsed(first, change.fix) ?? change.value) };
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
