import { median } from '../src/base/statistics.js';
import type { Report } from '../src/report/report.js';
import { contradictionsIn } from './contradictions.js';
import { type CaseTruth, isSteady, trueStep } from './truth.js';

/** Null: the case does not ask this question. */
export interface CaseScore {
  readonly name: string;
  readonly answer: string;
  readonly verdict: boolean | null;
  readonly fixes: readonly string[];
  readonly top2: boolean | null;
  /** The fix that gained when it was applied is the first one. Null: none was applied, or it gained nothing. */
  readonly first: boolean | null;
  /** The gain of the planted fix: likely, and its range. */
  readonly predicted: number | null;
  readonly range: readonly [low: number, high: number] | null;
  readonly measured: number | null;
  readonly gain: boolean | null;
  /** The measured gain is within the range. Null without a range. */
  readonly inRange: boolean | null;
  /** More was promised than 1.3 times what was measured. */
  readonly overpromised: boolean | null;
  readonly stepMs: number | null;
  readonly trueStepMs: number;
  readonly step: boolean | null;
  /** The same against the step in a process that was profiled before. Null: not measured. */
  readonly attachedStep: boolean | null;
  readonly falsePromises: readonly string[];
  /** Findings that cannot both be followed. */
  readonly contradictions: readonly string[];
  /** Of the verdict, and of findings that are known to be right or wrong. */
  readonly confidences: readonly Confidence[];
}

export interface Confidence {
  readonly of: 'verdict' | 'finding';
  readonly said: number;
  readonly right: boolean;
}

const GAIN_WITHIN = 0.3;
const STEP_WITHIN = 0.2;
/** No predicted gain may be more than this times the measured one. */
const MOST_PROMISED = 1.3;
/** A measured speedup below this is no gain; predicting more is a false gain. */
const NO_GAIN = 1.05;

export function scoreCase(truth: CaseTruth, report: Report): CaseScore {
  const answer = report.verdict.bottleneck;
  const accepted = [truth.bottleneck, ...(truth.acceptable ?? [])];
  const fixes = report.findings.filter((f) => f.addresses !== null).map((f) => f.rule);
  const planted = (truth.gain_of ? [truth.gain_of] : truth.rules)
    .map((name) => pricedLevels(report).find((f) => f.rule === name || f.id === name))
    .find((f) => f !== undefined);
  const measured = truth.measured_speedup ?? null;
  const asksGain =
    measured !== null && measured >= NO_GAIN && truth.rules.length > 0 && truth.gain_of !== 'none';
  const { low, likely = null, high } = planted?.speedup ?? {};
  const range = low !== undefined && high !== undefined ? ([low, high] as const) : null;
  const { ms } = report.step;
  const stepWithin = (truthMs: number | undefined) =>
    isSteady(truth) && ms !== null && truthMs !== undefined
      ? Math.abs(ms / truthMs - 1) <= STEP_WITHIN
      : null;
  const verdict = truth.bottleneck === null ? null : accepted.includes(answer);
  return {
    name: truth.name,
    answer,
    measured,
    stepMs: ms,
    trueStepMs: trueStep(truth),
    fixes,
    predicted: likely,
    range,
    verdict,
    top2: truth.rules.length === 0 ? null : fixes.slice(0, 2).some((rule) => truth.rules.includes(rule)),
    first: asksGain
      ? isNamed(
          truth,
          report.findings.find((f) => f.addresses !== null),
        )
      : null,
    gain: asksGain ? likely !== null && Math.abs(likely / measured - 1) <= GAIN_WITHIN : null,
    inRange: asksGain && range ? range[0] <= measured && measured <= range[1] : null,
    step: stepWithin(trueStep(truth)),
    attachedStep: stepWithin(truth.step_ms_attached),
    overpromised: asksGain && likely !== null ? likely > MOST_PROMISED * measured : null,
    falsePromises: falsePromises(truth, report),
    contradictions: contradictionsIn(report.findings, true),
    confidences: [
      ...(verdict === null
        ? []
        : [{ of: 'verdict' as const, said: report.verdict.confidence, right: verdict }]),
      ...findingConfidences(truth, report),
    ],
  };
}

const isNamed = ({ rules, gain_of }: CaseTruth, first: Report['findings'][number] | undefined) =>
  first !== undefined &&
  [first.rule, first.id, first.further?.id].some(
    (name) => name !== undefined && (name === gain_of || rules.includes(name)),
  );

/** Findings with a gain, and what extends them. */
const pricedLevels = ({ findings }: Report) =>
  findings.flatMap(({ rule, id, speedup, further }) => [
    ...(speedup ? [{ rule, id, speedup }] : []),
    ...(further ? [{ rule, id: further.id, speedup: further.speedup }] : []),
  ]);

/** Rules that name the planted fault are right, rules that must not promise anything are wrong. Of others nothing is known. */
function findingConfidences(truth: CaseTruth, { findings }: Report): Confidence[] {
  const wrong = forbiddenRules(truth);
  return findings
    .filter((f) => truth.rules.includes(f.rule) || wrong.includes(f.rule))
    .map((f) => ({ of: 'finding', said: f.confidence, right: truth.rules.includes(f.rule) }));
}

const forbiddenRules = (truth: CaseTruth) => truth.not_a_gain.map((id) => id.split('-')[0]!);

/** Promised gains that do not exist: by a rule that does not apply, or by a fix that was tried and did not help. */
function falsePromises(truth: CaseTruth, report: Report): string[] {
  const forbidden = forbiddenRules(truth);
  return report.findings
    .filter(
      (f) =>
        forbidden.includes(f.rule) &&
        (f.speedup?.likely ?? 0) > Math.max(NO_GAIN, (truth.measured_speedup ?? 1) + 0.02),
    )
    .map((f) => `${f.rule} ×${f.speedup!.likely.toFixed(2)}`);
}

export interface Totals {
  readonly verdict: Ratio;
  readonly top2: Ratio;
  readonly first: Ratio;
  readonly gain: Ratio;
  readonly inRange: Ratio;
  /** Median of high ÷ low. */
  readonly rangeWidth: number;
  readonly overpromised: Ratio;
  readonly step: Ratio;
  readonly attachedStep: Ratio;
  readonly falsePromises: number;
}
export interface Ratio {
  readonly right: number;
  readonly of: number;
}

export function totalsOf(scores: readonly CaseScore[]): Totals {
  const ratio = (pick: (s: CaseScore) => boolean | null): Ratio => {
    const asked = scores.map(pick).filter((v) => v !== null);
    return { right: asked.filter(Boolean).length, of: asked.length };
  };
  return {
    verdict: ratio((s) => s.verdict),
    top2: ratio((s) => s.top2),
    first: ratio((s) => s.first),
    gain: ratio((s) => s.gain),
    inRange: ratio((s) => s.inRange),
    rangeWidth: median(
      scores.flatMap((s) => (s.range && s.inRange !== null ? [s.range[1] / s.range[0]] : [])),
    ),
    overpromised: ratio((s) => s.overpromised),
    step: ratio((s) => s.step),
    attachedStep: ratio((s) => s.attachedStep),
    falsePromises: scores.reduce((n, s) => n + s.falsePromises.length, 0),
  };
}

export const share = ({ right, of }: Ratio): number => (of === 0 ? 1 : right / of);
