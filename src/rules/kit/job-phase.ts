import {
  formatCount,
  formatDuration,
  formatPercent,
  formatTime,
  ns,
  seconds,
  share,
  toMs,
} from '../../base/units.js';
import type { RankView } from '../../diagnosis/ranks/rank-view.js';
import { jobCause } from '../../facts/causes.js';
import { outsidePerStep, recurring } from '../../facts/job-time.js';
import { evidence, timeEvidence } from './evidence.js';
import type { Evidence } from './finding.js';
import {
  found,
  type Levels,
  type Price,
  type RankFinding,
  type RuleResult,
  silent,
  threshold,
} from './rule.js';

/** Below it, doing it less often gains too little to be worth a change. */
export const LEAST_PHASE = threshold(
  'time of the phase',
  share(0.03),
  'of the steps and the time between them',
  'a gain below 3% is within noise',
);

/**
 * What is left of the time: done half as often; a tenth as often, or in the background with a tenth still in the way; not at
 * all. Plain arithmetic on measured time, so the range is what the reader can choose from.
 */
const LEFT: Levels = { low: 0.5, likely: 0.1, high: 0 };

/** As capture names them. */
type Phase = 'checkpoint' | 'compile' | 'evaluation' | 'gc' | 'generation' | 'inference' | 'logging';

/**
 * A phase between training steps that takes a visible part of the job. `of`: one occurrence, `checkpoint`. `price`: null
 * where doing it less often is no choice.
 */
export function checkJobPhase(
  view: RankView,
  name: Phase,
  of: string,
  finding: Pick<RankFinding, 'title' | 'remedy'> & { readonly price?: null },
): RuleResult {
  if (!view.job) return silent('the wall time of the job was not recorded');
  const phase = recurring(view.job).find((p) => p.name === name);
  const perStep = outsidePerStep(view.job, name);
  if (!phase || perStep < LEAST_PHASE.value * view.step.whole) {
    const all = view.job.phases.find((p) => p.name === name && !p.own);
    if (!all) return silent(`no ${of} was seen`);
    const part = `${formatPercent(share(all.ns / view.job.wall))} of the job’s time`;
    return silent(
      phase ? `${formatCount(all.count, of)} took ${part}` : `${of}s took ${part}, once and not again`,
    );
  }
  return found({
    ...finding,
    id: jobCause(name),
    confidence: 0.95,
    addresses: 'host',
    evidence: evidenceOf(view, name, of),
    price: finding.price === null ? null : priceOf(view, perStep),
  });
}

function evidenceOf(view: RankView, name: string, of: string): Evidence[] {
  const job = view.job!;
  const { ns: time, count, longest, call, line } = job.phases.find((p) => p.name === name && !p.own)!;
  const each = count > 0 ? `, ${formatTime(toMs(ns(time / count)))} each` : '';
  const total = formatDuration(seconds(time / 1e9));
  const part = formatPercent(share(time / job.wall));
  const perStep = outsidePerStep(job, name);
  const often = count > 0 ? `, ${howOften(count, job.steps)}` : '';
  const where = [call, line && `at ${line}`].filter((text) => text !== null).join(' ');
  return [
    timeEvidence(
      view,
      perStep,
      `${formatCount(count, of)} took ${total}${each}${often}: ${part} of the job’s time`,
    ),
    ...(where ? [timeEvidence(view, perStep, `code: ${where}`)] : []),
    ...(longest && count > 1 && longest > (2 * time) / count
      ? [evidence(view, `the longest took ${formatTime(toMs(longest))}`, toMs(longest), 'ms')]
      : []),
  ];
}

function howOften(count: number, steps: number): string {
  if (count >= steps) return `${Math.round(count / steps)} per step`;
  return `one every ${formatCount(Math.round(steps / count), 'step')}`;
}

function priceOf(view: RankView, perStep: number): Price {
  const whole = view.step.whole;
  const after = (left: number) => whole - perStep * (1 - left);
  const speedup = (left: number) => whole / Math.max(after(left), whole / 1000);
  return {
    speedup: { low: speedup(LEFT.low), likely: speedup(LEFT.likely), high: speedup(LEFT.high) },
    after: ns(after(LEFT.likely)),
    between: true,
    edit: null,
    floor: ns(0),
  };
}
