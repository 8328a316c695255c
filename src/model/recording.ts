/** A machine watched for a few seconds. Plain data; counters grow from sample to sample. Null or absent: not known. */
export interface Recording {
  readonly machine: MachineFacts;
  readonly processes: readonly ProcessFacts[];
  readonly samples: readonly MachineSample[];
  /** What nvidia-smi printed, its static figures first. Null: there is no nvidia-smi or rocm-smi, or it does not work. */
  readonly gpuText: string | null;
}

/** What does not change while we watch. */
export interface MachineFacts {
  readonly host: string;
  /** When the first sample was taken, nanoseconds since 1970. Null: an older recording. */
  readonly startedNs: number | null;
  /** CPUs that the job may run on. */
  readonly cores: number;
  /** CPUs that its cgroup grants. Null: no limit. */
  readonly quota: number | null;
  /** The process that was named. Null: the job was found. */
  readonly pid: number | null;
  /** GPUs of the job as nvidia-smi numbers them. Null: not known. */
  readonly gpus: readonly number[] | null;
  /** Why there is no figure of a GPU. */
  readonly noGpu: string | null;
  /** Roots of further jobs that train here. */
  readonly others: readonly number[];
  /** Python processes of other users, which could not be looked into. */
  readonly hidden: number;
}

export interface ProcessFacts {
  readonly pid: number;
  readonly parent: number;
  readonly command: string;
  /** Has loaded libtorch. */
  readonly torch: boolean;
  /** `2.13.0+cu130`. */
  readonly torchVersion: string | null;
  /** Has opened a GPU. A forked worker inherits that. Null: it is another user's. */
  readonly gpu: boolean | null;
  /** Variables that say how it was started: RANK, OMP_NUM_THREADS, … */
  readonly environment: Readonly<Record<string, string>>;
}

export interface MachineSample {
  /** Since the start. */
  readonly seconds: number;
  readonly processes: readonly ProcessSample[];
  readonly counters: MachineCounters;
}

/** One process at one moment. */
export interface ProcessSample {
  readonly pid: number;
  /** Bytes of all reads, from the page cache too; not from sockets. */
  readonly readChars: number | null;
  /** Bytes that came from a disk. */
  readonly readBytes: number | null;
  readonly majorFaults: number;
  readonly swappedBytes: number | null;
  /** In memory. Older recordings do not have it. */
  readonly residentBytes?: number | null;
  readonly voluntarySwitches: number | null;
  readonly involuntarySwitches: number | null;
  /** What the main thread sleeps in, as the kernel names it. */
  readonly waitsIn: string | null;
  /** The main thread first. */
  readonly threads: readonly ThreadSample[];
}

export interface ThreadSample {
  readonly id: number;
  readonly name: string;
  /** `R` runs or wants to, `D` waits for a disk, `S` sleeps, `Z` has ended. */
  readonly state: string;
  /** Seconds of CPU time. */
  readonly cpu: number;
  /** Seconds it was ready and waited for a CPU. */
  readonly delayed: number | null;
}

/** All of them may be missing in a container. */
export interface MachineCounters {
  /** Threads that want to run. */
  readonly runnable: number | null;
  /** Seconds in which some task waited for it (pressure stall information). */
  readonly cpuPressure: number | null;
  readonly ioPressure: number | null;
  readonly memoryPressure: number | null;
  /** Seconds in which the cgroup's CPU quota held its threads back. */
  readonly throttled: number | null;
  /** Scheduling periods of the quota, and those in which it was used up. */
  readonly periods: number | null;
  readonly throttledPeriods: number | null;
  /** Of the machine, or of the job's cgroup if that has less. */
  readonly memoryAvailable: number | null;
  readonly memoryTotal: number | null;
  /** Bytes read back from swap. */
  readonly swappedIn: number | null;
  /** Bytes from the network, loopback left out. */
  readonly received: number | null;
  /** Seconds of CPU time of all programs on this machine. Older recordings do not have it. */
  readonly cpuUsed?: number | null;
  /** Seconds in which its CPUs wanted to run and the host of the virtual machine did not let them. */
  readonly cpuStolen?: number | null;
}
