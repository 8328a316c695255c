import type { Finding } from '../rules/kit/finding.js';
import type { ComparedFindings } from './compare-report.js';
import type { RunProfile } from './run-profile.js';

/** Findings that are gone or new, and what those that are gone were to bring. `speedup`: what was measured. */
export function comparedFindings(
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
