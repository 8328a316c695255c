import { largest, median, mediansOfOthers } from '../../base/statistics.js';
import type { Incident } from '../../model/incident.js';
import { type LevelChange, LevelWatch } from '../detect/level-watch.js';
import type { Machines } from '../machine/machines.js';
import { PaceLine } from '../steps/pace-line.js';
import type { Start, StepSink } from '../steps/rank-steps.js';
import type { StepSummary } from '../steps/step-summary.js';
import { AlignedSteps } from './aligned-steps.js';
import { explainChange, withMachines } from './explain-change.js';
import { IncidentBook } from './incident-book.js';
import { PauseWatch } from './pause-watch.js';
import { type Gap, ownTime, RankWatch, waitsOf } from './rank-watch.js';
import { RecentSteps } from './recent-steps.js';

/** Probability of one false alarm or more in the whole run. */
export const FALSE_ALARM = 0.01;
/** Job, ranks and pauses share it. */
const PARTS = { job: 1 / 2, ranks: 1 / 4, pauses: 1 / 4 };
/** A job whose number of ranks is not known. */
const USUAL_WORLD = 64;
/** Steps timed together: what recorded steps have in common must not decide. */
const STEPS_PER_VALUE = 5;
/** Machines drift by as much with the temperature of the room. */
const LEAST_CHANGE = 0.01;
/** More ranks than any job has. A damaged log must not fill the memory. */
const MOST_RANKS = 1 << 14;

/** Follows all ranks of a job: learns what is usual and finds lasting changes. Computes only; memory is bounded per rank. */
export class JobWatch implements StepSink {
  readonly #ranks = new Map<number, RankWatch>();
  readonly #aligned = new AlignedSteps();
  readonly #pace: LevelWatch;
  readonly #pauses: PauseWatch;
  readonly #values = new RecentSteps();
  readonly #steps = new RecentSteps();
  readonly #book: IncidentBook;
  /** The whole job: the median rank. */
  readonly line = new PaceLine();
  #world = USUAL_WORLD;
  #sum = { ms: 0, steps: 0, disturbed: false };
  #latest = { step: Number.NaN, time: Number.NaN };
  /** How often the job has begun. */
  #starts = 0;
  /** When its first step was, ms since 1970. */
  #begun = Number.NaN;

  constructor(
    onIncident: (incident: Incident) => void = () => {},
    readonly falseAlarm = FALSE_ALARM,
    readonly machines: Machines | null = null,
  ) {
    this.#pace = new LevelWatch({ falseAlarm: falseAlarm * PARTS.job, least: LEAST_CHANGE });
    this.#pauses = new PauseWatch(falseAlarm * PARTS.pauses);
    this.#book = new IncidentBook(onIncident);
  }

  get ranks(): readonly RankWatch[] {
    return [...this.#ranks.values()].sort((a, b) => a.rank - b.rank);
  }
  /** The latest version of each. */
  get incidents(): readonly Incident[] {
    return this.#book.incidents;
  }
  /** Of a GPU for an hour. */
  set price(price: number | null) {
    this.#book.price = price;
  }
  get run(): string | null {
    return this.#book.run;
  }
  get latest(): { readonly step: number; readonly time: number } {
    return this.#latest;
  }
  /** ms per step. NaN while it is being learned. */
  get usual(): number {
    return Math.exp(this.#pace.level);
  }
  get isLearning(): boolean {
    return this.#pace.isLearning;
  }

  /** A rank of the job, before anything of it is read: its steps are waited for. */
  join(rank: number): void {
    this.#rankOf(rank);
  }

  begin(rank: number, { run, startedNs, worldSize }: Start): void {
    if (worldSize !== null && worldSize > 0) this.#world = Math.min(worldSize, MOST_RANKS);
    this.#book.run = run ?? this.#book.run;
    const watch = this.#rankOf(rank);
    if (!watch) return;
    // Ranks begin one after the other. The first that begins again ends what was before.
    if (++watch.starts > this.#starts) {
      if (this.#starts > 0) this.#restart();
      this.#starts = watch.starts;
    }
    watch.restart(startedNs === null ? Number.NaN : startedNs / 1e6);
  }

  step(rank: number, step: StepSummary): void {
    const watch = this.#rankOf(rank);
    // What another rank wrote before the job began again.
    if (!watch || watch.starts < this.#starts) return;
    this.#aligned.add(rank, step, this.#ranks.size, this.#judge);
  }

  /** Memory that grows is seen before it slows the job down: asked now and then. */
  lookAtMemory(): void {
    const growth = Number.isNaN(this.#begun) ? null : this.machines?.growth(this.#begun);
    if (growth && !this.isLearning)
      this.#book.leaks(growth, this.#steps.at(growth.since), this.#latest, this.usual);
  }

  /** Evidence from elsewhere about an incident. */
  amend(id: string, evidence: readonly string[], traces: readonly string[]): void {
    this.#book.amend(id, evidence, traces);
  }

  /** Nothing more comes for now. */
  flush(): void {
    this.#aligned.flush(this.#judge);
  }

  #rankOf(rank: number): RankWatch | null {
    const known = this.#ranks.get(rank);
    if (known || this.#ranks.size >= MOST_RANKS) return known ?? null;
    const share = (this.falseAlarm * PARTS.ranks) / Math.max(this.#world, 1);
    const watch = new RankWatch(rank, share);
    this.#ranks.set(rank, watch);
    return watch;
  }

  #restart(): void {
    this.flush();
    this.#aligned.restart();
    this.#pace.restart();
    this.#pauses.restart();
    this.#sum = { ms: 0, steps: 0, disturbed: false };
    this.#begun = Number.NaN;
    for (const watch of this.#ranks.values()) watch.restart(watch.startedMs);
    this.#book.restarted(this.#latest);
  }

  readonly #judge = (number: number, byRank: ReadonlyMap<number, StepSummary>): void => {
    const gaps: Gap[] = [];
    let time = Number.NaN;
    let waits = 0;
    for (const [rank, step] of byRank) {
      const watch = this.#ranks.get(rank)!;
      const gap = watch.move(step);
      if (gap) gaps.push(gap);
      const own = ownTime(step);
      watch.history.add(step, own);
      if (gap) watch.line.add(gap.from, number, own * gap.steps, 0);
      if (Number.isNaN(time)) time = watch.timeOf(step);
      waits += waitsOf(step);
    }
    this.#latest = { step: number, time };
    this.#steps.add(number, time);
    if (gaps.length > 0)
      this.#follow(
        gaps,
        waits > 0,
        [...byRank.values()].some((s) => s.disturbed),
      );
    this.#compare(byRank);
    this.#book.settle(this.#latest);
    if (Number.isNaN(this.#begun)) this.#begun = time;
  };

  /** The pace of the job, and its pauses. */
  #follow(gaps: readonly Gap[], isInStep: boolean, disturbed: boolean): void {
    const steps = median(gaps.map((g) => g.steps));
    const outside = outsideOf(gaps, isInStep);
    const all = median(gaps.map((g) => g.raw / g.steps)) * steps;
    const out = Math.min(
      [...outside.values()].reduce((sum, ms) => sum + ms, 0),
      all,
    );
    const ms = all - out;
    if (!(ms > 0)) return;
    const { step, time } = this.#latest;
    this.line.add(step - steps, step, ms, out);
    this.#sum = {
      ms: this.#sum.ms + ms,
      steps: this.#sum.steps + steps,
      disturbed: this.#sum.disturbed || disturbed,
    };
    if (this.#sum.steps < STEPS_PER_VALUE) {
      this.#pauses.collect(outside);
      return;
    }
    const value = Math.log(this.#sum.ms / this.#sum.steps);
    const usual = this.usual;
    const pause = this.#pace.isFar(value, 6, 0.4) ? this.#sum.ms - usual * this.#sum.steps : 0;
    this.#values.add(step, time);
    this.#pauses.collect(outside);
    const paused = this.#pauses.judge(this.#sum.steps, this.#sum.ms, pause, usual);
    const change = this.#sum.disturbed ? null : this.#pace.add(value);
    this.#sum = { ms: 0, steps: 0, disturbed: false };
    if (change) this.#changed(change);
    else if (paused) this.#book.pauses(paused, this.#values.ago(paused.age), this.#latest);
  }

  #changed(change: LevelChange): void {
    this.#pauses.paceChanged();
    const onset = this.#values.ago(change.age);
    const [before, after] = [Math.exp(change.before), Math.exp(change.after)];
    if (change.isReturn) {
      this.#book.returned(this.#latest, after);
      return;
    }
    const why = withMachines(explainChange(this.ranks, onset.step, after - before), this.machines, {
      onset: onset.time,
      detected: this.#latest.time,
      begun: this.#begun,
      times: after / before,
    });
    this.#book.changed({
      change,
      before,
      after,
      onset,
      why,
      detected: this.#latest,
      world: this.#ranks.size,
    });
  }

  /** How late each rank is, compared with the others. */
  #compare(byRank: ReadonlyMap<number, StepSummary>): void {
    const usual = this.usual;
    if (byRank.size < 2 || Number.isNaN(usual)) return;
    const ranks = [...byRank.keys()];
    const own = ranks.map((rank) => ownTime(byRank.get(rank)!));
    const others = mediansOfOthers(own);
    for (const [i, rank] of ranks.entries()) {
      const watch = this.#ranks.get(rank)!;
      const change = watch.lateness.add((own[i]! - others[i]!) / usual);
      if (!change) continue;
      const onset = this.#steps.ago(change.age);
      if (change.direction === 'down') {
        if (change.isReturn) this.#book.caughtUp(rank, this.#latest);
        continue;
      }
      const alone = explainChange([watch], onset.step, (change.after - change.before) * usual);
      const why = withMachines({ ...alone, ranks: [rank] }, this.machines, {
        onset: onset.time,
        detected: this.#latest.time,
        begun: this.#begun,
        times: 1 + change.after - change.before,
      });
      // Of two ranks, one seems late when the other gets faster.
      if (why.grew <= 0) continue;
      this.#book.behind({
        rank,
        share: change.after - change.before,
        usual,
        onset,
        why,
        detected: this.#latest,
        world: this.#ranks.size,
      });
    }
  }
}

/** In a job whose ranks wait for each other, what one does outside its steps holds up all. */
function outsideOf(gaps: readonly Gap[], isInStep: boolean): ReadonlyMap<string, number> {
  const names = new Set(gaps.flatMap((g) => [...g.outside.keys()]));
  return new Map(
    [...names].map((name) => {
      const all = gaps.map((g) => g.outside.get(name) ?? 0);
      return [name, isInStep ? largest(all) : median(all)];
    }),
  );
}
