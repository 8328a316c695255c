import type { Verdict } from '../answers/kit/claim.js';
import { readsOf } from '../answers/live/words.js';
import { judgeJob } from '../answers/live-job.js';
import type { StackSample } from '../machine/stacks.js';
import type { Recording } from '../model/recording.js';
import type { ProcessActivity } from '../telemetry/processes/process-activity.js';
import type { Activity } from '../triage/activity/activity.js';
import type { ProcessStacks } from '../triage/stacks/stacks.js';

/** What `whyslow triage --json` prints. */
export interface TriageReport {
  readonly schema: 'whyslow/triage/1';
  readonly verdict: Omit<Verdict, 'second' | 'next'>;
  readonly evidence: readonly string[];
  readonly advice: string;
  readonly next: readonly string[];
  /** What limits the answer, in sentences. */
  readonly notes: readonly string[];
  readonly seconds: number;
  readonly machine: { readonly host: string; readonly cores: number; readonly quota: number | null };
  readonly gpus: readonly GpuLine[];
  readonly processes: readonly ProcessLine[];
  readonly stacks: readonly StackLine[];
}

interface GpuLine {
  readonly index: number | null;
  readonly name: string | null;
  readonly utilization: number | null;
  readonly clock_mhz: number | null;
  readonly max_clock_mhz: number | null;
  readonly power_w: number | null;
  readonly power_limit_w: number | null;
  readonly temperature_c: number | null;
}

interface ProcessLine {
  readonly pid: number;
  readonly role: string;
  readonly command: string;
  readonly cpu_cores: number;
  readonly main_thread: number;
  readonly active_threads: number;
  readonly read_bytes_per_s: number | null;
}

interface StackLine {
  readonly pid: number;
  readonly name: string;
  readonly samples: number;
  readonly stuck: boolean;
  readonly collective: string | null;
  readonly place: string;
}

/** What limits a job, from what was recorded of it. `isLive`: just now, on this machine. */
export function triage(
  recording: Recording,
  stackSamples: readonly StackSample[] = [],
  notes: readonly string[] = [],
  isLive = true,
): TriageReport {
  const job = judgeJob(recording, stackSamples, isLive);
  const { activity, verdict, evidence, advice, stacks } = job;
  const { bottleneck, cause, confidence, label, headline, details, sentence, next } = verdict;
  return {
    schema: 'whyslow/triage/1',
    verdict: {
      bottleneck,
      cause,
      confidence: Math.round(100 * confidence) / 100,
      label,
      headline,
      details,
      sentence,
    },
    evidence,
    advice,
    next,
    notes: [...notes, ...job.notes],
    seconds: Math.round(10 * (activity?.seconds ?? 0)) / 10,
    machine: { host: recording.machine.host, cores: recording.machine.cores, quota: recording.machine.quota },
    gpus: (activity?.gpu?.states ?? []).map((s) => ({
      index: s.index,
      name: s.name,
      utilization: rounded(s.utilization),
      clock_mhz: rounded(s.clock),
      max_clock_mhz: rounded(s.maxClock),
      power_w: rounded(s.power ?? s.maxPower),
      power_limit_w: rounded(s.powerLimit),
      temperature_c: rounded(s.temperature),
    })),
    processes: activity === null ? [] : processLines(activity),
    stacks: stacks.map(stackLine),
  };
}

const processLines = ({ trainers, workers, compilers }: Activity): ProcessLine[] =>
  [...trainers, ...workers, ...compilers].map((p: ProcessActivity) => ({
    pid: p.facts.pid,
    role: p.role,
    command: p.facts.command,
    cpu_cores: Math.round(100 * p.cpu) / 100,
    main_thread: Math.round(100 * p.mainCpu) / 100,
    active_threads: p.activeThreads,
    read_bytes_per_s: rounded(readsOf(p)),
  }));

const stackLine = ({ pid, name, samples, isStuck, collective, place }: ProcessStacks): StackLine => ({
  pid,
  name,
  samples,
  stuck: isStuck,
  collective,
  place,
});

const rounded = (value: number | null): number | null => (value === null ? null : Math.round(value));
