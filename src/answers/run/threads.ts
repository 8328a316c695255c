import { formatWholePercent, share } from '../../base/units.js';
import type { Observed } from '../../diagnosis/observe.js';
import { hostLines } from '../../diagnosis/ranks/host-lines.js';
import { type CapturedRank, capturedRanks, competingThread } from '../../diagnosis/ranks/rank-activity.js';
import type { RankView } from '../../diagnosis/ranks/rank-view.js';
import type { Claim } from '../kit/claim.js';
import { labelOf, words } from '../kit/words.js';
import { stepsAnswer } from './steps.js';

/** The other thread runs this many times as long as the training thread. */
const OUTRUNS = 1;
/** Threads that wait for a core, on average, in a job that has more threads than cores. */
const MANY_WAIT = 1;
/** A thread that runs, or could run, less than this waits for something. */
const MOSTLY = 0.5;

/**
 * On a job without a GPU, phases and operators cannot separate computing from waiting for a lock or a core: the clock runs in both.
 * What the threads did can. Null: it adds nothing to what the steps show.
 */
export function threadsAnswer(run: Observed): Claim | null {
  const claim = stepsAnswer(run);
  const view = claim?.view;
  if (!claim || !view || view.facts.hasGpuWork || claim.bottleneck === 'data' || claim.bottleneck === 'comms')
    return null;
  const captured = capturedRanks(run.locations.manifests, run.evidence.activity).get(view.rank);
  return (
    lockAnswer(claim, captured) ?? coresAnswer(claim, captured) ?? waitAnswer(claim, view, captured, run)
  );
}

function lockAnswer(claim: Claim, captured: CapturedRank | undefined): Claim | null {
  const thread = competingThread(captured);
  if (!thread || thread.ran < OUTRUNS * thread.trainerRan) return null;
  const headline = `the training thread runs ${formatWholePercent(thread.trainerRan)} of the time, and thread ${thread.line.thread} ${formatWholePercent(thread.ran)}: only one of them can hold Python’s interpreter lock`;
  return {
    ...claim,
    bottleneck: 'host',
    second: claim.bottleneck === 'host' ? (claim.second ?? null) : null,
    confidence: Math.max(0.75, claim.confidence),
    cause: 'host-overhead',
    words: words(labelOf('host'), headline, ...claim.words.details),
    doubts: [],
    next: [],
  };
}

/** With more threads than cores, steps vary so much that the recorded ones need not be like the others. */
function coresAnswer(claim: Claim, captured: CapturedRank | undefined): Claim | null {
  const { cpu, cores } = captured ?? {};
  if (claim.bottleneck !== 'unknown' || !cpu || !cores) return null;
  const usable = Math.min(cores.allowed, cores.quota ?? cores.allowed);
  if (cpu.threads * cores.ranks <= usable || (cpu.queued ?? 0) < MANY_WAIT) return null;
  const waiting = share((cpu.queued ?? 0) / (cpu.used + (cpu.queued ?? 0)));
  return {
    ...claim,
    bottleneck: 'compute',
    confidence: 0.7,
    cause: 'cpu-busy',
    words: words(
      labelOf('compute'),
      `operators run on ${cpu.threads} threads, more than there are cores, and threads that want to run wait for a core ${formatWholePercent(waiting)} of the time`,
    ),
    next: [],
  };
}

/** A thread that sleeps does not compute in Python. */
function waitAnswer(
  claim: Claim,
  view: RankView,
  captured: CapturedRank | undefined,
  { inputs }: Observed,
): Claim | null {
  const cpu = captured?.cpu;
  if (claim.bottleneck !== 'host' || cpu?.threadRan == null) return null;
  const wants = cpu.threadRan + (cpu.threadQueued ?? 0);
  if (wants >= MOSTLY) return null;
  const [line] = hostLines(inputs, view.rank);
  const where = line ? `, mostly at ${line.file}:${line.line}${line.source && ` (${line.source})`}` : '';
  const headline = `the training thread waits for ${formatWholePercent(share(1 - wants))} of the time${where}`;
  return { ...claim, words: words(labelOf('host'), headline, ...claim.words.details) };
}
