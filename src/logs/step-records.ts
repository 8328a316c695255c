import { groupBy } from '../base/group-by.js';
import type { EventLogRun } from '../model/event-log.js';
import { PHASE_ROLES, type PhaseClock, type PhaseRole, roleOf } from './phases.js';

/** One timing of a phase in a step, or in one of its micro-steps. ns. */
export interface Part {
  /** From the run's anchor. NaN: unknown. */
  readonly start: number;
  readonly ns: number;
  /** For device timings: what the host took, and how far the device was behind the host at the end. NaN: unknown. */
  readonly hostNs: number;
  readonly lag: number;
}

export interface RecordedPhase {
  readonly name: string;
  readonly role: PhaseRole;
  /** Unknown where records disagree, or name none: lmms-engine's, whose timings are CUDA events. */
  readonly clock: PhaseClock;
  /** Timed by the host in a log that also has device timings: the device may have worked meanwhile. */
  readonly onHost: boolean;
}

export interface RecordedStep {
  readonly number: number;
  /** How often the run had gone back to an earlier step. Start times are comparable only within a generation. */
  readonly generation: number;
  /** By index in `RankRecords.phases`. */
  readonly parts: ReadonlyMap<number, readonly Part[]>;
}

/** What one rank wrote in one run. */
export interface RankRecords {
  readonly rank: number;
  readonly phases: readonly RecordedPhase[];
  /** Ascending. */
  readonly steps: readonly RecordedStep[];
  /** Records without a usable duration, which were left out. */
  readonly dropped: number;
  /** All timings are the host's: a job without GPU, or without CUDA events. */
  readonly allHost: boolean;
  /** Only lmms-engine's four fields: no header, no clocks, no start times. */
  readonly bare: boolean;
  /** The worst of `EventLogRun.profiler`. */
  readonly profiler: number;
}

const NS_PER_MS = 1e6;
/** Eleven days. No phase lasts longer, and sums of shorter ones stay exact enough. */
const MAX_DURATION_MS = 1e9;
/** Thirty years. A later start does not count from the run's anchor. */
const MAX_START_MS = 1e12;
/** `EventLogRun.clock` of records that the host timed. */
const HOST = 2;

/** What is made of the records of each rank, in order of ranks. One rank at a time: a log may have thousands. */
export function eachRank<T>(run: EventLogRun, use: (records: RankRecords) => readonly T[]): T[] {
  const byRank = groupBy(run.rank.keys(), (row) => run.rank[row]!);
  return [...byRank]
    .sort(([a], [b]) => a - b)
    .flatMap(([rank, rows]) => {
      const collector = new Collector(rank);
      for (const row of rows) collector.add(run, row);
      return use(collector.finish(run));
    });
}

export function sumOf(parts: readonly Part[] | undefined): number {
  return parts ? parts.reduce((ns, p) => ns + p.ns, 0) : 0;
}

interface Entry extends Part {
  readonly micro: number;
  readonly clock: number;
}
interface OpenStep {
  readonly generation: number;
  readonly phases: Map<number, Entry[]>;
}

/** How many records a duplicate is searched in. More would be quadratic in a file that never counts its steps. */
const LOOK_BACK = 64;

/** Only with start times: without them (NaN) equal records are micro-steps, which lmms-engine does not number. */
function isDuplicate(entries: readonly Entry[], { start, micro, clock }: Entry): boolean {
  return entries.slice(-LOOK_BACK).some((e) => e.start === start && e.micro === micro && e.clock === clock);
}

class Collector {
  readonly #steps = new Map<number, OpenStep>();
  readonly #latest = new Map<number, { step: number; generation: number }>();
  #generation = 0;
  #dropped = 0;
  #profiler = 0;

  constructor(readonly rank: number) {}

  add(run: EventLogRun, row: number): void {
    const ms = run.durationMs[row]!;
    if (!(ms >= 0 && ms <= MAX_DURATION_MS)) {
      this.#dropped++;
      return;
    }
    this.#profiler = Math.max(this.#profiler, run.profiler[row]!);
    const [name, number, startMs] = [run.name[row]!, run.step[row]!, run.startMs[row]!];
    const generation = this.#generationOf(name, number);
    let step = this.#steps.get(number);
    // A resumed run repeats a step: what was written before it stopped is not part of the new one.
    if (!step || step.generation !== generation) {
      step = { generation, phases: new Map() };
      this.#steps.set(number, step);
    }
    const start = Math.abs(startMs) <= MAX_START_MS ? startMs * NS_PER_MS : Number.NaN;
    const entry = {
      start,
      ns: ms * NS_PER_MS,
      micro: run.micro[row]!,
      clock: run.clock[row]!,
      hostNs: run.hostMs[row]! * NS_PER_MS,
      lag: run.lagMs[row]! * NS_PER_MS,
    };
    const entries = step.phases.get(name);
    if (!entries) step.phases.set(name, [entry]);
    else if (!isDuplicate(entries, entry)) entries.push(entry);
  }

  /** Going back is seen per phase, as in the reader: some writers flush phase by phase. */
  #generationOf(name: number, step: number): number {
    const latest = this.#latest.get(name);
    // The first phase to go back begins a generation; the others follow.
    if (latest && step < latest.step && latest.generation === this.#generation) this.#generation++;
    this.#latest.set(name, { step, generation: this.#generation });
    return this.#generation;
  }

  finish(run: EventLogRun): RankRecords {
    const seen = new Map<number, { index: number; clocks: Set<number> }>();
    const steps: RecordedStep[] = [];
    let starts = 0;
    for (const [number, step] of [...this.#steps].sort((a, b) => a[0] - b[0])) {
      const parts = new Map<number, readonly Part[]>();
      for (const [name, entries] of step.phases) {
        // A phase that was timed on both clocks counts once, on the device's.
        const device = entries.filter((e) => e.clock !== HOST);
        const kept = device.length > 0 ? device : entries;
        let phase = seen.get(name);
        if (!phase) {
          phase = { index: seen.size, clocks: new Set() };
          seen.set(name, phase);
        }
        for (const e of kept) {
          phase.clocks.add(e.clock);
          if (!Number.isNaN(e.start)) starts++;
        }
        parts.set(phase.index, kept);
      }
      steps.push({ number, generation: step.generation, parts });
    }
    const all = [...seen.values()];
    const allHost = all.every((p) => p.clocks.size === 1 && p.clocks.has(HOST));
    const phases = [...seen].map(([name, { clocks }]): RecordedPhase => {
      const only = clocks.size === 1 ? [...clocks][0]! : 0;
      const clock = (['unknown', 'gpu', 'host'] as const)[only]!;
      return {
        name: run.names[name]!,
        role: roleOf(run.names[name]!),
        clock,
        onHost: !allHost && only === HOST,
      };
    });
    const bare = run.header === null && starts === 0 && phases.every((p) => p.clock === 'unknown');
    return {
      rank: this.rank,
      phases,
      steps,
      dropped: this.#dropped,
      allHost,
      bare,
      profiler: this.#profiler,
    };
  }
}

/** ns of one step by role. Phases that the host timed, while others have device timings (`RecordedPhase.onHost`), are kept apart. */
export type Amounts = Readonly<Record<PhaseRole, { readonly device: number; readonly host: number }>>;

/** Micro-steps are summed. */
export function amountsOf(records: RankRecords, step: RecordedStep): Amounts {
  const amounts = zero();
  for (const [phase, parts] of step.parts) {
    const { role, onHost } = records.phases[phase]!;
    amounts[role][onHost ? 'host' : 'device'] += sumOf(parts);
  }
  return amounts;
}

export function meanAmounts(all: readonly Amounts[]): Amounts {
  const mean = zero();
  for (const role of PHASE_ROLES) {
    for (const clock of ['device', 'host'] as const) {
      mean[role][clock] = all.reduce((ns, a) => ns + a[role][clock], 0) / all.length;
    }
  }
  return mean;
}

/** ns of the given roles on both clocks. */
export function total(amounts: Amounts, roles: readonly PhaseRole[]): number {
  return roles.reduce((ns, r) => ns + amounts[r].device + amounts[r].host, 0);
}

function zero(): Record<PhaseRole, { device: number; host: number }> {
  const entries = PHASE_ROLES.map((r) => [r, { device: 0, host: 0 }]);
  return Object.fromEntries(entries) as Record<PhaseRole, { device: number; host: number }>;
}
