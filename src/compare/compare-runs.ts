import { mean } from '../base/statistics.js';
import { formatCount, type Ms, ms, type Share, share } from '../base/units.js';
import { TIME_CLASSES } from '../facts/time-class.js';
import { toolInfo } from '../report/tool-info.js';
import type { Finding } from '../rules/kit/finding.js';
import { changedLines, changedTimes, changedWork } from './changed-work.js';
import type {
  ChangedWork,
  ComparedFindings,
  ComparedSide,
  CompareReport,
  HistoryAnswer,
} from './compare-report.js';
import { comparedSetup, notesOf, samplesOf, timesOf } from './notes.js';
import { type RunProfile, usualStep } from './run-profile.js';
import { compareStepTimes, DEFAULT_LEVEL } from './step-times/compare-step-times.js';
import type { StepComparison } from './step-times/step-comparison.js';

/** From this factor on, percent are hard to read. */
const AS_FACTOR = 1.5;
/** An interval that reaches this factor is too wide to be useful. */
const USELESS = 10;

/** `12.4% faster, 95% between 10.9 and 13.8%: not noise`. `per`: `''`, or ` per sample`. */
export function stepSentence(comparison: StepComparison, level: Share, per: string): string {
  const { speedup, verdict } = comparison;
  const sure = `${Math.round(100 * level)}%`;
  if (verdict === 'same')
    return `No difference${per}: between ${change(speedup.low)} and ${change(speedup.high)} (${sure})`;
  if (verdict === 'cannot-tell') return cannotTell(comparison, sure, per);
  return `${change(speedup.likely)}${per}, ${sure} between ${ends(comparison)}: not noise`;
}

function ends({ speedup, verdict }: StepComparison): string {
  const [from, to] = verdict === 'faster' ? [speedup.low, speedup.high] : [speedup.high, speedup.low];
  if (asFactor(speedup.likely)) return `${factor(from)}× and ${factor(to)}×`;
  return `${percent(from)} and ${percent(to)}%`;
}

function cannotTell(
  { speedup, spread, drift, moreSteps, moreRuns }: StepComparison,
  sure: string,
  per: string,
) {
  const seen = percent(speedup.likely) === percent(1) ? 'No difference seen' : change(speedup.likely);
  const isUseful = Math.max(speedup.high, 1 / speedup.low) < USELESS;
  const range = isUseful ? ` (${sure} between ${change(speedup.low)} and ${change(speedup.high)})` : '';
  const why =
    spread !== null
      ? `runs of the same side differ by ${(100 * spread).toFixed(1)}%`
      : drift > 0
        ? `the machine drifted by ${(100 * drift).toFixed(1)}% meanwhile`
        : 'that may be noise';
  return `${seen}${per}, but ${why}${range}: inconclusive; ${advice(moreSteps, moreRuns)}`;
}

function advice(moreSteps: number | null, moreRuns: number | null): string {
  if (moreSteps !== null) return `record ${formatCount(moreSteps, 'more step')} on each side`;
  if (moreRuns !== null) return `record ${moreRuns} runs on each side`;
  return 'this machine is too noisy to show a difference this small';
}

const asFactor = (speedup: number) => Math.abs(Math.log(speedup)) >= Math.log(AS_FACTOR);
const factor = (speedup: number) => {
  const ratio = Math.max(speedup, 1 / speedup);
  return ratio.toFixed(ratio >= 10 ? 1 : 2);
};
/** Time saved, as a share of the time before; or time added. */
const percent = (speedup: number) => (100 * Math.abs(1 / speedup - 1)).toFixed(1);

/** `12.4% faster`, `5.0% slower`, `1.90× faster`, `2.10× slower`. */
function change(speedup: number): string {
  const isFaster = speedup >= 1;
  if (!asFactor(speedup)) return `${percent(speedup)}% ${isFaster ? 'faster' : 'slower'}`;
  return isFaster ? `${factor(speedup)}× faster` : `${factor(speedup)}× slower`;
}

type Runs = readonly RunProfile[];

/** Did it get faster, where, and was it to be expected. Each side has a run with a step time. */
export function compareRuns(before: Runs, after: Runs, history: HistoryAnswer | null = null): CompareReport {
  const [was, is] = [samplesOf(before), samplesOf(after)];
  const perSample = was !== null && is !== null && was !== is;
  const compared = compareStepTimes(
    timesOf(before, perSample ? was : 1),
    timesOf(after, perSample ? is : 1),
    {
      doubt: [doubtOf(before), doubtOf(after)],
    },
  );
  const per = perSample ? 'sample' : 'step';
  const [beforeMs, afterMs] = [stepOf(compared.before.ms, was, per), stepOf(compared.after.ms, is, per)];
  const worksOf = (of: 'kernels' | 'operators') =>
    changedWork(
      before.map((run) => run[of]),
      after.map((run) => run[of]),
      beforeMs,
    );
  return {
    schema: 'whyslow/compare/1',
    verdict: compared.verdict,
    sentence: stepSentence(compared, share(DEFAULT_LEVEL), perSample ? ' per sample' : ''),
    step: {
      before_ms: beforeMs,
      after_ms: afterMs,
      speedup: compared.speedup,
      level: DEFAULT_LEVEL,
      per,
      more_steps: compared.moreSteps,
      more_runs: compared.moreRuns,
    },
    time: TIME_CLASSES.map((name) => ({
      class: name,
      before_ms: classOf(before, name),
      after_ms: classOf(after, name),
    })).filter((t) => t.before_ms > 0 || t.after_ms > 0),
    phases: changedTimes(before.map(phasesOf), after.map(phasesOf)),
    kernels: worksOf('kernels'),
    operators: worksOf('operators').filter(isOwnWork),
    ranks: ranksOf(before, after),
    host_lines: changedLines(before, after),
    findings: comparedFindings(before, after, compared.speedup.likely),
    setup: comparedSetup({ before, after }),
    notes: notesOf({ before, after }, compared, per),
    before: sideOf(before),
    after: sideOf(after),
    history,
    tool: toolInfo(),
  };
}

/** A launch that takes longer waits for the GPU. How often something is launched is the job's own doing. */
const isOwnWork = ({ name, change }: ChangedWork) =>
  !/^(?:cuda|hip|cu)[A-Z]/.test(name) || (change !== 'longer' && change !== 'shorter');

/** Mean step of a side: what was compared may be a sample of it. */
const stepOf = (compared: number, samples: number | null, per: 'step' | 'sample'): Ms =>
  ms(per === 'sample' ? compared * samples! : compared);

const classOf = (runs: Runs, name: (typeof TIME_CLASSES)[number]): Ms =>
  ms(mean(runs.map(({ report }) => report.time[name] * (report.step.ms ?? 0))));

/** Phases of the log, and time between steps. */
const phasesOf = ({ phases, report }: RunProfile) => [
  ...phases,
  ...report.step.parts.filter((part) => !phases.some((p) => p.name === part.name)),
];

function ranksOf(before: Runs, after: Runs): CompareReport['ranks'] {
  const timeOf = (runs: Runs, rank: number) => {
    const times = runs.flatMap(({ report }) => report.ranks.filter((r) => r.rank === rank));
    return ms(mean(times.flatMap((r) => (r.step_ms === null ? [] : [r.step_ms]))));
  };
  const ranks = [...new Set(before.flatMap(({ report }) => report.ranks.map((r) => r.rank)))];
  const both = ranks
    .map((rank) => ({ rank, before_ms: timeOf(before, rank), after_ms: timeOf(after, rank) }))
    .filter((r) => !Number.isNaN(r.before_ms) && !Number.isNaN(r.after_ms));
  return both.length > 1 ? both : [];
}

function sideOf(runs: Runs): ComparedSide {
  const bottlenecks = new Set(runs.map(({ report }) => report.verdict.bottleneck));
  return {
    runs: runs.map((run) => {
      const { step } = run.report;
      return {
        label: run.label,
        step_ms: step.ms!,
        usual_ms: usualStep(run),
        steps: step.times_ms.length,
        times_ms: step.times_ms,
        source: step.corrected ? ('estimated' as const) : ('measured' as const),
      };
    }),
    bottleneck: [...bottlenecks].join(', '),
  };
}

/** Findings that are gone or new, and the predicted gain of those that are gone. `speedup`: what was measured. */
function comparedFindings(
  before: readonly RunProfile[],
  after: readonly RunProfile[],
  speedup: number,
): ComparedFindings {
  const [left, right] = [before, after].map(findingsOf);
  const gone = [...left!.values()].filter((f) => !right!.has(f.id));
  const fresh = [...right!.values()].filter((f) => !left!.has(f.id));
  const priced = gone.flatMap((f) => (f.speedup ? [{ rule: f.rule, id: f.id, speedup: f.speedup }] : []));
  const alone = priced.length === 1;
  return {
    gone: gone.map(named),
    new: fresh.map(named),
    predicted: priced.map((p) => ({ ...p, measured: alone ? speedup : null })),
    together: priced.length > 1 ? togetherOf(before, gone, speedup) : null,
  };
}

/** Of every run of a side: one that only some runs have depends on the run. */
function findingsOf(runs: readonly RunProfile[]): ReadonlyMap<string, Finding> {
  const [first, ...others] = runs.map(({ report }) => new Map(report.findings.map((f) => [f.id, f])));
  return new Map([...(first ?? [])].filter(([id]) => others.every((run) => run.has(id))));
}

const named = ({ id, rule, title, speedup, saving_ms }: Finding) => ({ id, rule, title, speedup, saving_ms });

/** Savings are marginal, each on top of those listed before it, so they add up. */
function togetherOf([first]: readonly RunProfile[], gone: readonly Finding[], measured: number) {
  const step = first?.report.step.ms ?? null;
  const saved = gone.reduce((sum, f) => sum + (f.saving_ms ?? 0), 0);
  return step !== null && saved < step ? { predicted: step / (step - saved), measured } : null;
}

/**
 * The estimated part of a step that a profiler slowed: what is left of it is 1.2 times less or more in one host-bound loop of
 * five (replay/recording-cost.ts). Where half of it is left, that is 0.22 of what was taken off, or 1.28 standard errors.
 */
const PER_CORRECTION = 0.22 / 1.28;

/** How far the step times of a side may be off together, because the profiler's cost is only estimated. A share. */
function doubtOf(runs: readonly RunProfile[]): number {
  const corrections = runs.map(({ report: { step } }) =>
    step.corrected && step.ms !== null && step.ms > 0 && step.profiled_ms !== null
      ? Math.max(0, step.profiled_ms / step.ms - 1)
      : 0,
  );
  return (PER_CORRECTION * corrections.reduce((sum, c) => sum + c, 0)) / Math.max(1, corrections.length);
}
