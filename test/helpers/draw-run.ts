import { expect } from 'vitest';
import { fromMs, ms } from '../../src/base/units.js';
import { UNKNOWN_JOB } from '../../src/diagnosis/job-words.js';
import type { Unprofiled } from '../../src/diagnosis/ranks/join-log.js';
import { type RankView, type TraceView, viewTrace } from '../../src/diagnosis/ranks/rank-view.js';
import { NO_EVIDENCE } from '../../src/diagnosis/run-evidence.js';
import type { RunFacts } from '../../src/diagnosis/run-facts.js';
import type { Bottleneck } from '../../src/facts/causes.js';
import type { TimeByClass } from '../../src/facts/time-class.js';
import { type Advice, advise, use } from '../../src/remedies/remedies.js';
import { askRule } from '../../src/rules/kit/ask.js';
import type { RankFinding, Rule, RuleResult } from '../../src/rules/kit/rule.js';
import { analyzeTrace } from '../../src/traces/analyze-trace.js';
import { drawTrace } from './draw-trace.js';
import { PHASES } from './logged-view.js';

/** Headers as the profiler writes them. */
export const H200 = onDevice('NVIDIA H200', 9, 0, 150_109_880_320);
export const V100 = onDevice('Tesla V100-SXM2-32GB', 7, 0, 34_079_637_504);
export const P100 = onDevice('Tesla P100-PCIE-16GB', 6, 0, 17_066_885_120);

export function onDevice(name: string, computeMajor: number, computeMinor: number, totalGlobalMem: number) {
  return { deviceProperties: [{ id: 0, name, totalGlobalMem, computeMajor, computeMinor }] };
}

export interface DrawOptions {
  readonly header?: Record<string, unknown>;
  /** Step time without the profiler. Equal to the drawn step: recording cost nothing, and figures are exact. */
  readonly unprofiledMs?: number;
  readonly rank?: number;
}

/** A drawn trace as rules see it. */
export function drawView(
  drawing: string,
  { header = H200, unprofiledMs, rank = 0 }: DrawOptions = {},
): TraceView {
  const facts = analyzeTrace(drawTrace(drawing, header), { steps: null });
  if (!facts) throw new Error('nothing to analyze in this drawing');
  return viewTrace(rank, facts, unprofiledMs === undefined ? null : logged(unprofiledMs, facts.time));
}

/** A rank of a run that needs so many ms per step. */
export const atPace = (view: TraceView, paceMs: number): TraceView => ({
  ...view,
  step: { ...view.step, pace: fromMs(ms(paceMs)) },
});

/** What an event log of a GPU job says about a step. It does not know when the host set the pace. */
export const logged = (stepMs: number, time: TimeByClass): Unprofiled => ({
  step: fromMs(ms(stepMs)),
  time,
  steps: 20,
  knowledge: PHASES,
  job: null,
  notes: [],
});

export function runOf(
  views: readonly RankView[],
  bottleneck: Bottleneck = 'gpu',
  confidence = 0.9,
): RunFacts {
  return {
    ranks: views,
    verdict: { bottleneck, confidence },
    across: null,
    gpus: new Map(),
    captured: new Map(),
    hostLines: [],
    job: UNKNOWN_JOB,
    evidence: NO_EVIDENCE,
  };
}

/** What a rule says about a rank, as the runner sees it: gains that are too small are already left out. */
export function check(rule: Rule, view: RankView, run: Partial<RunFacts> = {}): RuleResult {
  const { ranks, verdict, across, gpus, captured, hostLines, evidence, job } = runOf([view]);
  return askRule(rule, view, {
    ranks: run.ranks ?? ranks,
    verdict: run.verdict ?? verdict,
    across: run.across ?? across,
    gpus: run.gpus ?? gpus,
    hostLines: run.hostLines ?? hostLines,
    captured: run.captured ?? captured,
    job: run.job ?? job,
    evidence: run.evidence ?? evidence,
  });
}

/** Why a rule does not fire. */
export function silence(rule: Rule, view: RankView, run?: Partial<RunFacts>): string {
  const result = check(rule, view, run);
  return 'silent' in result ? result.silent : `fires: ${result.findings.map((f) => f.id).join(', ')}`;
}

/** Code fits a terminal of 80 columns with an indent. */
export const CODE_COLUMNS = 75;

export interface Expected {
  readonly id: string;
  readonly addresses: Bottleneck | null;
  /** Unit of the first piece of evidence. Null: it has no figure. */
  readonly unit: string | null;
  /** Whether the evidence has a position in the trace. */
  readonly placed: boolean;
}

/** Checks that a rule finds exactly one thing and that the finding is complete. */
export function fires(rule: Rule, view: RankView, expected: Expected, run?: Partial<RunFacts>): Advised {
  const result = check(rule, view, run);
  if ('silent' in result) throw new Error(`${rule.info.id} is silent: ${result.silent}`);
  expect(result.findings.map((f) => f.id)).toEqual([expected.id]);
  const framework = run?.captured?.get(view.rank)?.loader?.framework;
  const finding = withAdvice(rule, result.findings[0]!, framework);
  expectComplete(finding, expected);
  return finding;
}

/** A finding with what the report takes from its remedy, in the words of the captured framework. */
export type Advised = RankFinding & Advice;

export function withAdvice(rule: Rule, finding: RankFinding, framework?: string | null): Advised {
  const advice = advise(finding.remedy ?? use(rule.info.remedy), framework);
  const fix = { text: `${advice.fix.text}${finding.note ?? ''}`, code: advice.fix.code };
  return { ...finding, ...advice, fix };
}

function expectComplete(finding: Advised, expected: Expected): void {
  const { text, code } = finding.fix;
  expect(finding).toMatchObject({ id: expected.id, addresses: expected.addresses });
  expect([finding.title, text, code].every((t) => t.length > 5)).toBe(true);
  expect(code.split('\n').filter((line) => line.length > CODE_COLUMNS)).toEqual([]);
  expect(finding.confidence).toBeGreaterThan(0);
  expect(finding.confidence).toBeLessThanOrEqual(1);
  const [first] = finding.evidence;
  expect(first!.text.length).toBeGreaterThan(10);
  expect(first!.unit).toBe(expected.unit);
  expect(typeof first!.value).toBe(expected.unit === null ? 'object' : 'number');
  expect(first!.rank).toBe(0);
  expect(first!.ts_ns !== null && first!.dur_ns! > 0).toBe(expected.placed);
  const { price } = finding;
  if (!price) return;
  expect(price.speedup.low).toBeLessThanOrEqual(price.speedup.likely);
  expect(price.speedup.high).toBeGreaterThanOrEqual(price.speedup.likely);
}

/** Checks that it is priced, and that the likely gain is within 2% of what was worked out by hand. */
export function expectGain(found: RankFinding, gain: number): void {
  expect(found.price).not.toBeNull();
  expect(found.price!.speedup.likely / gain).toBeGreaterThan(0.98);
  expect(found.price!.speedup.likely / gain).toBeLessThan(1.02);
}

/** For gains that depend on measured constants: between what is surely won and what can be won at most. */
export function expectGainBetween(found: RankFinding, least: number, most: number): void {
  expect(found.price).not.toBeNull();
  expect(found.price!.speedup.likely).toBeGreaterThan(least);
  expect(found.price!.speedup.likely).toBeLessThan(most);
}
