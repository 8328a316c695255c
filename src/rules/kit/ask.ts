import type { RankView } from '../../diagnosis/ranks/rank-view.js';
import type { RunFacts } from '../../diagnosis/run-facts.js';
import { serves } from '../../traces/program.js';
import { isWorthwhile } from './price.js';
import { type RankFinding, type Rule, type RuleResult, silent } from './rule.js';

const NOTHING_MEASURED = silent('no time passes in the steps');
export const NEEDS_TRACE = silent('needs a trace');
const NOT_TORCH = silent('what was recorded is not a PyTorch program');
const OF_ENGINE = silent('a serving engine decides this, and advice for training loops does not fit it');
const ONLY_FORWARD = silent('the recording shows forward passes only, and this is about training');
const ONE_STEP = silent('the recording does not show a step twice, so what it shows may be start-up');
const NO_GAIN = silent('the step would not get shorter: something else holds it up');
const UNKNOWN_GAIN = silent('the gain is not known, and this rule reports only gains that are');

/** Asks a rule about one rank, or about the whole run. */
export function askRule(rule: Rule, view: RankView | null, run: RunFacts): RuleResult {
  // Shares of no time are no shares.
  if (view && !(view.step.unprofiled > 0)) return NOTHING_MEASURED;
  if (view?.source === 'trace') {
    if (!view.facts.program.torch) return NOT_TORCH;
    if (serves(view.facts.program) && !rule.servesToo) return OF_ENGINE;
    if (rule.trainsOnly && view.facts.program.task === 'inference') return ONLY_FORWARD;
    if (rule.recurs && view.facts.steps.total < 2) return ONE_STEP;
  }
  const result = checkView(rule, view, run);
  if ('silent' in result) return result;
  const findings = result.findings.filter((f) => counts(rule, f));
  if (findings.length > 0) return { findings };
  return result.findings.some((f) => f.price) ? NO_GAIN : UNKNOWN_GAIN;
}

function checkView(rule: Rule, view: RankView | null, run: RunFacts): RuleResult {
  if (rule.reads === 'run') return rule.check(run);
  if (!view) return NOTHING_MEASURED;
  if (rule.reads === 'traces and logs') return rule.check(view, run);
  // What a log cannot show may still be there.
  return view.source === 'trace' ? rule.check(view, run) : NEEDS_TRACE;
}

/** Whether a finding is reported: its gain is worth having, or the rule reports it anyway. */
export function counts(rule: Rule, { price }: RankFinding): boolean {
  if (price === null) return rule.unpriced === 'allowed';
  return rule.smallGain === 'allowed' || isWorthwhile(price);
}
