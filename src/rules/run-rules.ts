import type { Problem } from '../base/problem.js';
import { largest } from '../base/statistics.js';
import { type Ns, ns, toMs } from '../base/units.js';
import type { RankView, TraceView } from '../diagnosis/ranks/rank-view.js';
import type { RunFacts } from '../diagnosis/run-facts.js';
import type { Bottleneck } from '../diagnosis/verdict/bottleneck.js';
import { copyPlan } from '../replay/plan.js';
import { replay } from '../replay/replay.js';
import { COSTS, type Finding } from './kit/finding.js';
import type { Price, RankFinding, Rule, RuleResult } from './kit/rule.js';

export interface RulesResult {
  /** In the order to try them. */
  readonly findings: readonly Finding[];
  readonly silent: readonly { readonly rule: string; readonly reason: string }[];
  /** Rules that failed: bugs, reported and survived. */
  readonly problems: readonly Problem[];
}

const NOTHING_MEASURED = { silent: 'no time passes in the steps' };
const NEEDS_TRACE = { silent: 'needs a trace' };

interface Seen {
  readonly rule: Rule;
  readonly view: RankView;
  readonly found: RankFinding;
}

/** Asks every rule about every rank, joins what they find, and puts it in the order to try it. */
export function runRules(rules: readonly Rule[], run: RunFacts): RulesResult {
  const seen: Seen[] = [];
  const silent: { rule: string; reason: string }[] = [];
  const problems: Problem[] = [];
  for (const rule of rules) {
    const reasons: string[] = [];
    const before = seen.length;
    for (const view of run.ranks) {
      try {
        const result = ask(rule, view, run);
        if ('silent' in result) reasons.push(result.silent);
        else seen.push(...result.findings.map((found) => ({ rule, view, found })));
      } catch (error) {
        problems.push(failure(rule, error));
      }
    }
    if (seen.length === before && reasons.length > 0)
      silent.push({ rule: rule.info.id, reason: reasons[0]! });
  }
  const joined = joinRanks(seen).toSorted(inOrder(run.verdict.bottleneck));
  return { findings: withSavings(joined), silent, problems };
}

function ask(rule: Rule, view: RankView, run: RunFacts): RuleResult {
  // Shares of no time are no shares.
  if (!(view.step > 0)) return NOTHING_MEASURED;
  if (rule.reads === 'traces and logs') return rule.check(view, run);
  // What a log cannot show may still be there.
  return view.source === 'trace' ? rule.check(view, run) : NEEDS_TRACE;
}

function failure(rule: Rule, error: unknown): Problem {
  const message = `rule ${rule.info.id} failed: ${error instanceof Error ? error.message : String(error)}`;
  return {
    code: 'rule-failed',
    count: 1,
    message,
    consequence: 'please report it; the other rules ran',
    first: null,
  };
}

interface Joined extends Seen {
  readonly ranks: readonly number[];
}

/** The same finding on several ranks is one; the rank that would gain most speaks for it. */
function joinRanks(seen: readonly Seen[]): Joined[] {
  const byId = new Map<string, Joined>();
  for (const s of seen) {
    const known = byId.get(s.found.id);
    // Traces of several runs may be of one rank.
    const ranks = [...new Set([...(known?.ranks ?? []), s.view.rank])];
    byId.set(
      s.found.id,
      known && gainOf(known.found.price) >= gainOf(s.found.price) ? { ...known, ranks } : { ...s, ranks },
    );
  }
  return [...byId.values()];
}

const gainOf = (price: Price | null) => price?.speedup.likely ?? 0;

const LATE_RANK = 'W1';
/** All others wait for a late rank; one that was late once, or by little, is not what to begin with. */
const WORTH_FIRST = 1.05;

/**
 * A late rank first, if it costs enough; what addresses the bottleneck next; then gains we can defend before
 * those we cannot; then cheap before dear; then large before small. Advice on the measurement comes last.
 */
function inOrder(bottleneck: Bottleneck): (a: Joined, b: Joined) => number {
  const target = bottleneck === 'compute' ? 'gpu' : bottleneck;
  const group = ({ found, rule }: Joined) => {
    // Who is late comes before how to mend it.
    if (rule.info.id === LATE_RANK && (found.price?.speedup.likely ?? WORTH_FIRST) >= WORTH_FIRST) return -1;
    return found.addresses === target ? 0 : found.addresses === null ? 2 : 1;
  };
  const cost = ({ rule, found }: Joined) => COSTS.indexOf(found.cost ?? rule.info.cost ?? 'code');
  const unpriced = ({ found }: Joined) => Number(found.price === null);
  return (a, b) =>
    group(a) - group(b) ||
    unpriced(a) - unpriced(b) ||
    cost(a) - cost(b) ||
    gainOf(b.found.price) - gainOf(a.found.price);
}

/**
 * Each speedup is that of the fix by itself. What a fix *saves* is what it adds to those listed before it: they are
 * played together, so that time which two fixes would win back is counted once.
 */
function withSavings(ordered: readonly Joined[]): Finding[] {
  const applied = new Map<RankView, { edits: NonNullable<Price['edit']>[]; after: Ns; floor: Ns }>();
  // Ranks share their step: what one rank's fix wins back cannot be won again on another.
  let left: number = largest(ordered.map((f) => f.view.step));
  return ordered.map(({ rule, view, found, ranks }) => {
    const { price } = found;
    const base = {
      ...{ id: found.id, rule: rule.info.id, title: found.title, confidence: found.confidence, ranks },
      ...{ cost: found.cost ?? rule.info.cost ?? 'code', risk: found.risk ?? rule.info.risk },
      ...{ evidence: found.evidence, fix: found.fix ?? rule.info.fix, addresses: found.addresses },
    };
    if (!price) return { ...base, speedup: null, saving_ms: null };
    const state = applied.get(view) ?? { edits: [], after: view.step, floor: ns(0) };
    applied.set(view, state);
    if (price.edit) state.edits.push(price.edit);
    state.floor = ns(Math.max(state.floor, price.floor));
    const together =
      price.edit && view.source === 'trace' ? playTogether(view, state.edits, state.floor) : price.after;
    const saving = Math.min(left, Math.max(0, state.after - together));
    left -= saving;
    state.after = ns(Math.min(state.after, together));
    return { ...base, speedup: rounded(price.speedup), saving_ms: toMs(ns(saving)) };
  });
}

function playTogether(view: TraceView, edits: readonly NonNullable<Price['edit']>[], floor: number): number {
  const { baseline } = view;
  const plan = copyPlan(baseline!.plan);
  for (const edit of edits) edit(plan, 'likely');
  const step = Math.max(replay(plan, baseline!.recording.likely).step, floor);
  return (view.step * step) / baseline!.corrected;
}

const rounded = ({ low, likely, high }: Price['speedup']) => ({
  low: Math.round(low * 1000) / 1000,
  likely: Math.round(likely * 1000) / 1000,
  high: Math.round(high * 1000) / 1000,
});
