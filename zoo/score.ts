import type { Report } from '../src/report/report.js';
import { type CaseTruth, isSteady } from './truth.js';

/** Null: the case does not ask this question. */
export interface CaseScore {
  readonly name: string;
  readonly answer: string;
  readonly verdict: boolean | null;
  readonly fixes: readonly string[];
  readonly top2: boolean | null;
  readonly predicted: number | null;
  readonly measured: number | null;
  readonly gain: boolean | null;
  readonly stepMs: number | null;
  readonly trueStepMs: number;
  readonly step: boolean | null;
  readonly falsePromises: readonly string[];
}

const GAIN_WITHIN = 0.3;
const STEP_WITHIN = 0.2;
/** A measured speedup below this is no gain; promising more is a false promise. */
const NO_GAIN = 1.05;

export function scoreCase(truth: CaseTruth, report: Report): CaseScore {
  const answer = report.verdict.bottleneck;
  const accepted = [truth.bottleneck, ...(truth.acceptable ?? [])];
  const fixes = report.findings.filter((f) => f.addresses !== null).map((f) => f.rule);
  const planted = (truth.gain_of ? [truth.gain_of] : truth.rules)
    .map((name) => report.findings.find((f) => (f.rule === name || f.id === name) && f.speedup !== null))
    .find((f) => f !== undefined);
  const measured = truth.measured_speedup ?? null;
  const asksGain =
    measured !== null && measured >= NO_GAIN && truth.rules.length > 0 && truth.gain_of !== 'none';
  const predicted = planted?.speedup?.likely ?? null;
  const { ms } = report.step;
  return {
    name: truth.name,
    answer,
    measured,
    stepMs: ms,
    trueStepMs: truth.step_ms,
    fixes,
    predicted,
    verdict: truth.bottleneck === null ? null : accepted.includes(answer),
    top2: truth.rules.length === 0 ? null : fixes.slice(0, 2).some((rule) => truth.rules.includes(rule)),
    gain: asksGain ? predicted !== null && Math.abs(predicted / measured - 1) <= GAIN_WITHIN : null,
    step: isSteady(truth) && ms !== null ? Math.abs(ms / truth.step_ms - 1) <= STEP_WITHIN : null,
    falsePromises: falsePromises(truth, report),
  };
}

/** Promised gains that do not exist: by a rule that does not apply, or by a fix that was tried and did not help. */
function falsePromises(truth: CaseTruth, report: Report): string[] {
  const forbidden = truth.not_a_gain.map((id) => id.split('-')[0]);
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
  readonly gain: Ratio;
  readonly step: Ratio;
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
    gain: ratio((s) => s.gain),
    step: ratio((s) => s.step),
    falsePromises: scores.reduce((n, s) => n + s.falsePromises.length, 0),
  };
}

export const share = ({ right, of }: Ratio): number => (of === 0 ? 1 : right / of);
