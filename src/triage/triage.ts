import { largest } from '../base/statistics.js';
import type { StackSample } from '../machine/stacks.js';
import type { Recording } from '../model/recording.js';
import { GPU_BUSY } from '../telemetry/busy-gpu.js';
import { isCrowdedOut } from '../telemetry/processes/job-activity.js';
import type { ProcessActivity } from '../telemetry/processes/process-activity.js';
import { type Activity, activityOf } from './activity/activity.js';
import { GPU_WAITS } from './activity/thresholds.js';
import { JUDGES } from './judges/list.js';
import type { Cause, TriageVerdict } from './judges/verdict.js';
import { readsOf } from './judges/words.js';
import { judgeStacks } from './stacks/judge-stacks.js';
import { type ProcessStacks, processStacks } from './stacks/stacks.js';

/** What `whyslow triage --json` prints. */
export interface TriageReport {
  readonly schema: 'whyslow/triage/1';
  readonly verdict: Pick<TriageVerdict, 'bottleneck' | 'cause' | 'confidence' | 'sentence'>;
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

const TOO_SHORT: TriageVerdict = {
  bottleneck: 'unknown',
  cause: 'not-training',
  confidence: 1,
  sentence: 'Nothing was measured: fewer than two samples',
  evidence: [],
  advice: 'Watch for longer.',
  next: ['whyslow triage --seconds 10'],
};

/** What limits a job, from what was recorded of it. `isLive`: just now, on this machine. */
export function triage(
  recording: Recording,
  stackSamples: readonly StackSample[] = [],
  notes: readonly string[] = [],
  isLive = true,
): TriageReport {
  const activity = activityOf(recording, isLive);
  const judged = activity === null ? TOO_SHORT : firstAnswer(activity);
  const stacks = activity === null ? [] : processStacks(stackSamples, activity);
  const verdict = activity === null ? judged : judgeStacks(judged, stacks, activity);
  const { bottleneck, cause, confidence, sentence, evidence, advice, next } = verdict;
  return {
    schema: 'whyslow/triage/1',
    verdict: { bottleneck, cause, confidence: Math.round(100 * confidence) / 100, sentence },
    evidence,
    advice,
    next,
    notes: [...notes, ...notesOn(recording, activity, cause, isLive)],
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

const firstAnswer = (activity: Activity): TriageVerdict => {
  for (const judge of JUDGES) {
    const verdict = judge(activity);
    if (verdict !== null) return verdict;
  }
  throw new Error('the last judge always answers');
};

const furtherJobs = (pids: readonly number[], isLive: boolean): string =>
  isLive
    ? `further jobs train here (process ${pids.join(', ')}); choose one with --pid`
    : `further jobs trained there (process ${pids.join(', ')})`;

function notesOn(
  { machine, samples }: Recording,
  activity: Activity | null,
  cause: Cause,
  isLive: boolean,
): string[] {
  const uses = activity?.gpu?.states.map((s) => s.utilization!) ?? [];
  const lag = uses.length > 1 && largest(uses) >= GPU_BUSY && uses.some((u) => u < GPU_WAITS);
  const isGone =
    samples.length > 2 && samples[0]!.processes.length > 0 && samples.at(-1)!.processes.length === 0;
  return [
    ...(isGone ? ['the job ended while it was watched'] : []),
    ...(isLive ? [] : [`these are samples of ${machine.host}: run the commands there, while the job runs`]),
    ...(machine.others.length > 0 ? [furtherJobs(machine.others, isLive)] : []),
    ...(activity !== null && cause !== 'threads' && isCrowdedOut(activity)
      ? ['the job waits for CPUs that other programs use: it would be faster on a machine of its own']
      : []),
    ...(lag
      ? ['some GPUs are busy and others are not: the busy ones may wait for the others in a collective']
      : []),
    ...(activity?.usesGpu && activity.gpu !== null && !activity.gpu.areKnown && activity.gpu.states.length > 1
      ? ['which GPUs the job uses is not known: all that work were taken']
      : []),
  ];
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
