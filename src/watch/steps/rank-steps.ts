import { roleOf } from '../../logs/phases.js';
import type { EventLogHeader } from '../../model/event-log.js';
import type { EventRecord } from '../../readers/events/event-record.js';
import type { StepSummary } from './step-summary.js';

/** What follows the records of one rank. */
export interface StepSink {
  /** A process begins, or the same steps are done again. */
  begin(rank: number, start: Start): void;
  step(rank: number, step: StepSummary): void;
}

export interface Start {
  readonly run: string | null;
  /** ns since 1970. Null: not known. */
  readonly startedNs: number | null;
  readonly worldSize: number | null;
}

/** Steps whose records may still come. Writers that flush phase by phase go back by a few. */
const MOST_OPEN = 16;
/** Names kept for a step. Others are left out: a job that names phases by step would fill the memory. */
const MOST_PHASES = 32;
const WHOLE = 'training_step';

/** Collectives and passes of a step whose place in each other is looked at. More would take too long. */
const MOST_SPANS = 64;

interface Span {
  readonly name: string;
  readonly start: number;
  readonly ms: number;
}

interface OpenStep {
  start: number;
  readonly passes: Span[];
  readonly collectives: Span[];
  readonly phases: Map<string, number>;
  outside: ReadonlyMap<string, number>;
  disturbed: boolean;
}

/** Puts the records of an events file together to steps, as they come. */
export class RankSteps {
  readonly #sink: StepSink;
  #rank: number;
  #open = new Map<number, OpenStep>();
  #latest = Number.NEGATIVE_INFINITY;
  #run: string | null = null;
  #hasHeader = false;
  #starts = 0;

  /** `rank`: as the name of the file has it. −1: it has none. */
  constructor(rank: number, sink: StepSink) {
    this.#rank = rank;
    this.#sink = sink;
  }

  get rank(): number {
    return this.#rank;
  }

  /** How far the file has been read. Ranks are followed side by side. */
  get position(): { readonly start: number; readonly step: number } {
    return { start: this.#starts, step: this.#latest };
  }

  header({ rank, run, startedNs, worldSize }: EventLogHeader): void {
    this.flush();
    if (rank !== null && rank >= 0) this.#rank = rank;
    this.#hasHeader = true;
    this.#begin({ run, startedNs, worldSize });
  }

  #begin(start: Start): void {
    this.#run = start.run;
    this.#starts++;
    this.#latest = Number.NEGATIVE_INFINITY;
    this.#sink.begin(this.#rank, start);
  }

  record(record: EventRecord): void {
    if (!(record.durationMs >= 0)) return;
    if (record.rank >= 0 && this.#rank < 0) this.#rank = record.rank;
    // A file of several ranks: each is followed in a file of its own, or not at all.
    if (record.rank >= 0 && record.rank !== this.#rank) return;
    if (record.run !== null && record.run !== this.#run && this.#run !== null) {
      this.flush();
      this.#begin({ run: record.run, startedNs: null, worldSize: null });
    }
    const isBack = record.step < this.#latest && !this.#open.has(record.step);
    if (isBack && (this.#hasHeader || record.step < this.#latest - MOST_OPEN)) {
      this.flush();
      this.#begin({ run: this.#run, startedNs: null, worldSize: null });
    }
    this.#add(record);
  }

  #add({ step, name, durationMs, startMs, outside, profiler }: EventRecord): void {
    let open = this.#open.get(step);
    if (!open) {
      // Our own writer appends whole steps; others may still come back to earlier ones.
      if (this.#hasHeader) this.flush();
      open = {
        start: Number.NaN,
        passes: [],
        collectives: [],
        phases: new Map(),
        outside: NOTHING,
        disturbed: false,
      };
      this.#open.set(step, open);
      if (this.#open.size > MOST_OPEN) this.#close(this.#open.keys().next().value!);
    }
    this.#latest = Math.max(this.#latest, step);
    if (name === WHOLE || !(startMs >= open.start)) open.start = openedAt(open, name, startMs);
    if (open.phases.size < MOST_PHASES || open.phases.has(name) || name === WHOLE)
      open.phases.set(name, (open.phases.get(name) ?? 0) + durationMs);
    const role = roleOf(name);
    const spans = role === 'comms' ? open.collectives : role === 'compute' ? open.passes : null;
    if (spans && spans.length < MOST_SPANS) spans.push({ name, start: startMs, ms: durationMs });
    if (outside.length > 0) open.outside = new Map(outside);
    if (profiler > 0) open.disturbed = true;
  }

  /** Nothing more comes for the open steps. */
  flush(): void {
    for (const step of [...this.#open.keys()].sort((a, b) => a - b)) this.#close(step);
  }

  #close(step: number): void {
    const open = this.#open.get(step)!;
    const { start, phases, outside, disturbed } = open;
    this.#open.delete(step);
    takeApart(open);
    const whole = phases.get(WHOLE) ?? [...phases.values()].reduce((sum, ms) => sum + ms, 0);
    phases.delete(WHOLE);
    if (whole > 0) this.#sink.step(this.#rank, { step, start, whole, phases, outside, disturbed });
  }
}

const NOTHING: ReadonlyMap<string, number> = new Map();

/** Gradients are sent in the backward pass. What it waits for other ranks is no computing. */
function takeApart({ passes, collectives, phases }: OpenStep): void {
  for (const { start, ms } of collectives) {
    const middle = start + ms / 2;
    const pass = passes.find((p) => middle >= p.start && middle <= p.start + p.ms);
    if (pass) phases.set(pass.name, Math.max(0, phases.get(pass.name)! - ms));
  }
}

/** That of the whole step if it is known, else the earliest. */
const openedAt = ({ start, phases }: OpenStep, name: string, startMs: number): number =>
  name === WHOLE || !phases.has(WHOLE) ? startMs : start;
