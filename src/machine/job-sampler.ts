import { availableParallelism, hostname } from 'node:os';
import type { MachineCounters, MachineFacts, MachineSample, ProcessFacts } from '../model/recording.js';
import { readCpuLimit, readMemoryLeft } from './cgroup.js';
import type { MachineFiles } from './files.js';
import {
  countCpus,
  parseCpuTime,
  parseFields,
  parsePressure,
  parseReceived,
  parseRunnable,
} from './proc-text.js';
import { factsOf, processTable, sampleProcess, treeOf } from './processes.js';

/** Takes samples of a process and all below it. */
export class JobSampler {
  readonly #files: MachineFiles;
  readonly #root: number | null;
  readonly #facts = new Map<number, ProcessFacts>();
  readonly #seen = new Map<number, number>();

  /** Null: nothing trains here, only the machine is sampled. */
  constructor(files: MachineFiles, root: number | null) {
    this.#files = files;
    this.#root = root;
  }

  /** Every process that was seen. */
  get processes(): readonly ProcessFacts[] {
    return [...this.#facts.values()];
  }

  take(seconds: number): MachineSample {
    const tree = this.#root === null ? [] : this.#tree(this.#root);
    return {
      seconds,
      processes: tree.flatMap((pid) => sampleProcess(this.#files, pid) ?? []),
      counters: sampleCounters(this.#files, this.#root ?? 'self'),
    };
  }

  /** The processes of the job now. */
  #tree(root: number): readonly number[] {
    const table = processTable(this.#files);
    const tree = treeOf(root, table);
    const isStarting = !this.processes.some((p) => p.torch);
    for (const pid of tree) {
      const known = this.#facts.get(pid);
      const times = (this.#seen.get(pid) ?? 0) + 1;
      this.#seen.set(pid, times);
      // A process that has just been started may not have loaded torch yet, or opened its GPU. Once the job trains, that is
      // looked up ever less often: it means reading its list of mapped files.
      if (!known || (!(known.torch && known.gpu) && (isStarting || isPowerOfTwo(times))))
        this.#facts.set(pid, factsOf(this.#files, pid, table.get(pid)!));
    }
    return tree;
  }
}

const isPowerOfTwo = (n: number) => (n & (n - 1)) === 0;

/** What does not change about the machine of a process. */
export function machineFacts(
  files: MachineFiles,
  root: number | null,
): Pick<MachineFacts, 'host' | 'startedNs' | 'cores' | 'quota'> {
  const status = files.read(`/proc/${root ?? 'self'}/status`);
  return {
    host: hostname(),
    startedNs: Date.now() * 1e6,
    cores: countCpus(/^Cpus_allowed_list:\s*(\S+)/m.exec(status ?? '')?.[1]) ?? availableParallelism(),
    quota: readCpuLimit(files, root ?? 'self').quota,
  };
}

const PAGE = 4096;

const lesser = (a: number | null, b: number | null) => (a === null || b === null ? (a ?? b) : Math.min(a, b));

/** The whole machine at this moment, and the cgroup of one process. */
function sampleCounters(files: MachineFiles, pid: number | 'self'): MachineCounters {
  const memory = parseFields(files.read('/proc/meminfo'));
  const limit = readCpuLimit(files, pid);
  const pages = parseFields(files.read('/proc/vmstat')).get('pswpin');
  return {
    runnable: parseRunnable(files.read('/proc/loadavg')),
    cpuPressure: parsePressure(files.read('/proc/pressure/cpu')),
    ioPressure: parsePressure(files.read('/proc/pressure/io')),
    memoryPressure: parsePressure(files.read('/proc/pressure/memory')),
    throttled: limit.throttled,
    periods: limit.periods,
    throttledPeriods: limit.throttledPeriods,
    memoryAvailable: lesser(memory.get('MemAvailable') ?? null, readMemoryLeft(files, pid)),
    memoryTotal: memory.get('MemTotal') ?? null,
    swappedIn: pages === undefined ? null : pages * PAGE,
    received: parseReceived(files.read(`/proc/${pid}/net/dev`)),
    ...parseCpuTime(files.read('/proc/stat')),
  };
}
