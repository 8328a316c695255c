import type { EventLogHeader, EventLogRun } from '../../model/event-log.js';
import { GrowingColumns } from '../common/growing-columns.js';
import type { EventRecord } from './event-record.js';
import type { EventFaults } from './faults.js';

/** Far above any real file. Without it a file of nothing but headers would cost kilobytes per line. */
export const MAX_RUNS = 1000;
export const MAX_NAMES = 65535;
/** Characters of all names together. */
const MAX_NAMES_LENGTH = 16 << 20;

/** The part of a file under one header or run id, or before any. Without both, each step that goes back starts a run. */
interface Section {
  id: string | null;
  readonly header: EventLogHeader | null;
  readonly runs: RunColumns[];
  readonly ranks: Map<number, RankHistory>;
}

/** Sorts records into runs. */
export class RunBook {
  readonly #faults: EventFaults;
  readonly #names: string[] = [];
  readonly #nameIds = new Map<string, number>();
  #namesLength = 0;
  readonly #runs: { readonly section: Section; readonly columns: RunColumns }[] = [];
  /** The latest section of each run id. */
  readonly #sections = new Map<string, Section>();
  #current: Section | null = null;
  #fileRank = -1;

  constructor(faults: EventFaults) {
    this.#faults = faults;
  }

  header(header: EventLogHeader, line: number): void {
    if (this.#fileRank < 0) this.#fileRank = header.rank ?? -1;
    this.#current = this.#openSection(header.run, header, line);
  }

  record(record: EventRecord, line: number): void {
    const name = this.#nameId(record.name);
    if (name < 0) {
      this.#faults.add('too-many-names', line);
      return;
    }
    const section = this.#sectionOf(record.run, line);
    this.#current = section;
    const rank = record.rank < 0 ? (section.header?.rank ?? -1) : record.rank;
    this.#checkRank(rank, line);
    const columns = this.#columnsOf(section, rank, name, record, line);
    columns.append(record, name, rank);
    for (const [phase, ms] of record.outside) {
      const id = this.#nameId(phase);
      if (id >= 0) columns.appendOutside(record, id, rank, ms);
    }
  }

  finish(): readonly EventLogRun[] {
    return this.#runs.map(({ section, columns }) => columns.finish(section.id, section.header, this.#names));
  }

  #sectionOf(id: string | null, line: number): Section {
    const current = this.#current;
    if (current !== null && (id === null || id === current.id)) return current;
    if (id === null) return this.#openSection(null, null, line);
    if (current !== null && current.id === null && current.runs[0]!.rows === 0) {
      // The header has no run id, but the records under it do.
      current.id = id;
      this.#sections.set(id, current);
      return current;
    }
    return this.#sections.get(id) ?? this.#openSection(id, null, line);
  }

  #openSection(id: string | null, header: EventLogHeader | null, line: number): Section {
    if (this.#runs.length === MAX_RUNS) {
      this.#faults.add('too-many-runs', line);
      return this.#current ?? this.#runs[MAX_RUNS - 1]!.section;
    }
    const section: Section = { id, header, runs: [], ranks: new Map() };
    this.#openRun(section, line);
    if (id !== null) this.#sections.set(id, section);
    return section;
  }

  #openRun(section: Section, line: number): void {
    const columns = new RunColumns();
    section.runs.push(columns);
    this.#runs.push({ section, columns });
    if (this.#runs.length > 1) this.#faults.add('several-runs', line);
  }

  #columnsOf(section: Section, rank: number, name: number, record: EventRecord, line: number): RunColumns {
    let history = section.ranks.get(rank);
    if (history === undefined) {
      history = new RankHistory(record.step);
      section.ranks.set(rank, history);
    }
    const wentBack = history.isBack(name, record.step);
    if (wentBack && section.id === null && section.header === null)
      this.#nextRun(section, history, record, line);
    else if (wentBack) this.#faults.add('step-order', line);
    if (history.note(name, record.step, record.micro, record.startMs))
      this.#faults.add('duplicate-record', line);
    return section.runs[history.run]!;
  }

  /** Each rank moves on alone: in a file of several ranks one may restart while rows of another still come. */
  #nextRun(section: Section, history: RankHistory, record: EventRecord, line: number): void {
    const next = history.run + 1;
    const isNew = next === section.runs.length;
    if (isNew && this.#runs.length === MAX_RUNS) this.#faults.add('too-many-runs', line);
    else if (isNew) this.#openRun(section, line);
    history.restart(Math.min(next, section.runs.length - 1), record.step);
  }

  #checkRank(rank: number, line: number): void {
    if (rank < 0 || rank === this.#fileRank) return;
    if (this.#fileRank < 0) this.#fileRank = rank;
    else this.#faults.add('mixed-ranks', line);
  }

  #nameId(name: string): number {
    const known = this.#nameIds.get(name);
    if (known !== undefined) return known;
    this.#namesLength += name.length;
    if (this.#names.length === MAX_NAMES || this.#namesLength > MAX_NAMES_LENGTH) return -1;
    this.#nameIds.set(name, this.#names.length);
    return this.#names.push(name) - 1;
  }
}

/** The rows of one run: 52 bytes each. */
class RunColumns {
  readonly #growing = new GrowingColumns({
    name: Uint16Array,
    step: Float64Array,
    rank: Int32Array,
    durationMs: Float64Array,
    startMs: Float64Array,
    micro: Int32Array,
    clock: Uint8Array,
    hostMs: Float64Array,
    lagMs: Float64Array,
    profiler: Uint8Array,
  });

  readonly #outside = new GrowingColumns({
    step: Float64Array,
    rank: Int32Array,
    name: Uint16Array,
    ms: Float64Array,
  });

  get rows(): number {
    return this.#growing.rows;
  }

  append(record: EventRecord, name: number, rank: number): void {
    const row = this.#growing.addRow();
    const { columns } = this.#growing;
    columns.name[row] = name;
    columns.step[row] = record.step;
    columns.rank[row] = rank;
    columns.durationMs[row] = record.durationMs;
    columns.startMs[row] = record.startMs;
    columns.micro[row] = record.micro;
    columns.clock[row] = record.clock;
    columns.hostMs[row] = record.hostMs;
    columns.lagMs[row] = record.lagMs;
    columns.profiler[row] = record.profiler;
  }

  /** Time outside steps, as it stood when the record's step began. */
  appendOutside({ step }: EventRecord, name: number, rank: number, ms: number): void {
    const row = this.#outside.addRow();
    const { columns } = this.#outside;
    columns.step[row] = step;
    columns.rank[row] = rank;
    columns.name[row] = name;
    columns.ms[row] = ms;
  }

  /** Call once. */
  finish(id: string | null, header: EventLogHeader | null, names: readonly string[]): EventLogRun {
    const outside = this.#outside.finish();
    return { id, header, names, rows: this.rows, ...this.#growing.finish(), outside };
  }
}

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
class RankHistory {
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
