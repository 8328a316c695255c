import type { MachineFacts, MachineSample, ProcessFacts, ProcessSample } from '../../model/recording.js';
import { asObject, parseObject } from '../../readers/common/json-object.js';
import { LineSplitter, type PieceSink } from '../../readers/common/line-splitter.js';
import { machineOf, processOf, sampleOf } from '../../readers/proc-samples/recording-line.js';
import { MemoryGrowth } from './memory-growth.js';
import { UsageHistory } from './usage-history.js';

/** Threads that want less of a core are not worth a line. */
const LEAST_THREAD = 0.1;
/** Shorter waits for a core are usual, as shares of the time. */
const LEAST_DELAY = 0.01;
/** Threads that wait most: the others wait for the same reason. */
const MOST_DELAYED = 24;
/** Of a damaged file. */
const MOST_PROCESSES = 4096;

/** Names of figures: cores and shares of the time. Threads are named by `threadKey`. */
export const USAGE = {
  /** Cores that the job's threads used. */
  ran: 'ran',
  /** Cores that other programs used. */
  others: 'others',
  /** Share of the CPU time of this virtual machine that its host did not give it. */
  stolen: 'stolen',
  /** Share of the time in which a quota held it back. */
  throttled: 'throttled',
  /** Bytes per second. */
  swappedIn: 'swapped in',
  /** Share of the time in which tasks waited for memory. */
  memoryPressure: 'memory pressure',
} as const;

const THREAD = 'thread ';
export const threadKey = (pid: number, id: number, name: string) =>
  `${THREAD}${id} (${name}) of process ${pid}`;
export const isThread = (name: string) => name.startsWith(THREAD);
/** How long a thread waited for a core, as a share of the time. */
const DELAY = 'delay of ';
export const delayKey = (thread: string) => `${DELAY}${thread}`;
/** Null: it is the name of something else. */
export const delayedThread = (name: string) => (name.startsWith(DELAY) ? name.slice(DELAY.length) : null);

/** Follows the samples of /proc of one machine, line by line, as `whyslow run` writes them. */
export class JobUsage implements PieceSink {
  readonly history = new UsageHistory();
  readonly memory = new MemoryGrowth();
  readonly #splitter = new LineSplitter(this);
  readonly #processes = new Map<number, ProcessFacts>();
  #machine: MachineFacts | null = null;
  #before: MachineSample | null = null;
  host = '';

  push(chunk: Uint8Array): void {
    this.#splitter.push(chunk);
  }

  /** The file was written anew, with fewer samples. */
  restart(): void {
    this.#before = null;
  }

  piece(bytes: Buffer, start: number, end: number): void {
    const raw = parseObject(bytes.toString('utf8', start, end));
    const [machine, process, sample] = [raw?.machine, raw?.process, raw?.sample].map(asObject);
    if (machine) {
      this.#machine = machineOf(machine);
      this.host = this.#machine.host;
    } else if (process && this.#processes.size < MOST_PROCESSES) {
      const facts = processOf(process);
      this.#processes.set(facts.pid, facts);
    } else if (sample) this.#sample(sampleOf(sample));
  }

  nulBytes(): void {}
  longLine(): void {}

  #sample(sample: MachineSample): void {
    const started = this.#machine?.startedNs;
    const before = this.#before;
    this.#before = sample;
    if (!started || !before || sample.seconds <= before.seconds) return;
    const at = (s: MachineSample) => started / 1e6 + s.seconds * 1000;
    this.history.add(at(before), at(sample), this.#rates(before, sample));
    const resident = sample.processes.reduce((sum, p) => sum + (p.residentBytes ?? Number.NaN), 0);
    this.memory.add(at(sample), resident, sample.counters.memoryAvailable ?? Number.NaN);
  }

  #rates(before: MachineSample, sample: MachineSample): ReadonlyMap<string, number> {
    const seconds = sample.seconds - before.seconds;
    const old = new Map(before.processes.map((p) => [p.pid, p]));
    const rates = new Map<string, number>();
    const delays = new Map<string, number>();
    let ran = 0;
    for (const process of sample.processes) {
      const threads = threadsSince(process, old.get(process.pid));
      for (const [i, { id, name, cpu, delayed }] of threads.entries()) {
        ran += cpu / seconds;
        const key = threadKey(process.pid, id, name);
        if (delayed / seconds >= LEAST_DELAY) delays.set(delayKey(key), delayed / seconds);
        // On a busy machine, a thread gets less than it wants.
        const wants = (cpu + delayed) / seconds;
        if (i > 0 && wants >= LEAST_THREAD) rates.set(key, wants);
      }
    }
    const grown = (name: 'throttled' | 'swappedIn' | 'memoryPressure' | 'cpuUsed' | 'cpuStolen') =>
      ((sample.counters[name] ?? Number.NaN) - (before.counters[name] ?? Number.NaN)) / seconds;
    const [used, stolen] = [grown('cpuUsed'), grown('cpuStolen')];
    // First, so that they are kept whatever number of threads there are; then the threads that wait most.
    return new Map([
      [USAGE.ran, ran],
      [USAGE.others, Math.max(0, used - ran)],
      [USAGE.stolen, stolen / Math.max(used + stolen, 1e-9)],
      [USAGE.throttled, grown('throttled')],
      [USAGE.swappedIn, grown('swappedIn')],
      [USAGE.memoryPressure, grown('memoryPressure')],
      ...[...delays].sort(([, a], [, b]) => b - a).slice(0, MOST_DELAYED),
      ...rates,
    ]);
  }
}

interface ThreadUse {
  readonly id: number;
  readonly name: string;
  readonly cpu: number;
  readonly delayed: number;
}

/** What each thread used since the sample before. One that is new has used all of it since. */
function threadsSince(now: ProcessSample, before: ProcessSample | undefined): readonly ThreadUse[] {
  if (!before) return [];
  const old = new Map(before.threads.map((t) => [t.id, t]));
  return now.threads.flatMap(({ id, name, cpu, delayed }, i) => {
    const was = old.get(id);
    // Idle threads are not written: what an old one used is not known when it appears.
    if (!was && cpu > MOST_AT_ONCE) return i === 0 ? [{ id, name, cpu: 0, delayed: 0 }] : [];
    return [
      {
        id,
        name,
        cpu: Math.max(0, cpu - (was?.cpu ?? 0)),
        delayed: Math.max(0, (delayed ?? 0) - (was?.delayed ?? 0)),
      },
    ];
  });
}

/** Seconds of CPU that a thread may have used between two samples. */
const MOST_AT_ONCE = 2;
