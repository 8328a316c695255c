import { isDisputed } from '../answers/steps/doubts.js';
import type { Problem } from '../base/problem.js';
import { largest } from '../base/statistics.js';
import { ms, type Ns, ns, toMs } from '../base/units.js';
import type { HostLine } from '../diagnosis/ranks/host-lines.js';
import { type RankView, type TraceView, unseenGpu } from '../diagnosis/ranks/rank-view.js';
import type { RunFacts } from '../diagnosis/run-facts.js';
import { type Bottleneck, timeOf } from '../facts/causes.js';
import { betweenSteps } from '../facts/step-facts.js';
import type { TimeClass } from '../facts/time-class.js';
import { COSTS, type Cost } from '../remedies/kit/remedy.js';
import { type Advice, advise, use } from '../remedies/remedies.js';
import { copyPlan } from '../replay/plan.js';
import { replaySteady } from '../replay/replay.js';
import { askRule, counts, NEEDS_TRACE } from './kit/ask.js';
import { lineEvidence } from './kit/evidence.js';
import type { Finding } from './kit/finding.js';
import { stepWith } from './kit/price.js';
import type { Edit, Price, RankFinding, Rule } from './kit/rule.js';

export interface RulesResult {
  /** In the order to try them. */
  readonly findings: readonly Finding[];
  readonly silent: readonly { readonly rule: string; readonly reason: string }[];
  /** Rules that failed: bugs, reported and survived. */
  readonly problems: readonly Problem[];
}

interface Found {
  readonly rule: Rule;
  /** Null: it is about the run. */
  readonly view: RankView | null;
  readonly finding: RankFinding;
  /** From its remedy, in the words of the framework whose loop trains. */
  readonly advice: Advice;
}

/** The rule's name in reports: its number in the knowledge base, if it has one. */
const reportedAs = ({ info }: Rule): string => info.alias ?? info.id;

/** Asks every rule about every rank, joins what they find, and puts it in the order to try it. */
export function runRules(rules: readonly Rule[], run: RunFacts): RulesResult {
  const all: Found[] = [];
  /** Of rules that found nothing, by name in the report. */
  const reasons = new Map<string, string[]>();
  const problems: Problem[] = [];
  const ranks = atPaceOf(run.ranks);
  const isFirst = (view: RankView | null) => view === null || view === ranks[0];
  for (const rule of rules) {
    for (const view of rule.reads === 'run' ? [null] : ranks) {
      try {
        const result = askRule(rule, view, run);
        if ('silent' in result) {
          if (isFirst(view)) addTo(reasons, reportedAs(rule), result.silent);
          continue;
        }
        for (const alone of result.findings) {
          const price = priceIn(alone, view);
          const finding = { ...alone, price };
          const shown = { ...finding, price: price && view && asDisputed(price, view) };
          const fault = view && faultOf(shown, view);
          if (fault) problems.push(impossible(rule, fault));
          else if (counts(rule, finding))
            all.push({
              rule,
              view,
              finding: shown,
              advice: adviceOf(rule, finding, view, run),
            });
          else if (isFirst(view)) addTo(reasons, reportedAs(rule), MOSTLY_BETWEEN_STEPS);
        }
      } catch (error) {
        problems.push(failure(rule, error));
      }
    }
  }
  for (const { rule } of all) reasons.delete(reportedAs(rule));
  const silent = [...reasons].map(([rule, texts]) => ({ rule, reason: joinReasons(texts) }));
  const joined = inOrder(withLevels(joinRanks(all)), run.verdict);
  return { findings: withSavings(joined, run.hostLines), silent, problems };
}

/** Ranks of one job wait for each other, so their steps differ by a few percent. */
const OTHER_PACE = 1.5;

/**
 * One folder may have traces of several jobs, or of several phases of one. The verdict is about the slowest; the gain of a fix
 * for a much shorter step does not apply to it.
 */
function atPaceOf(views: readonly RankView[]): readonly RankView[] {
  const slowest = largest(views.map((view) => view.step.unprofiled));
  return views.filter((view) => view.step.unprofiled * OTHER_PACE >= slowest);
}

const MOSTLY_BETWEEN_STEPS =
  'the job would hardly get faster: most of its time is spent between training steps';

/** What a step gains. Null: it is not known, as it is not where the GPU was not recorded. */
function priceIn({ price }: RankFinding, view: RankView | null): Price | null {
  if (!price || !view) return price;
  return unseenGpu(view) ? null : ofWholeStep(price, view);
}

/** A gain of the training step as one of the whole step: the time between steps stays. */
function ofWholeStep(price: Price, view: RankView): Price {
  const outside = betweenSteps(view.step);
  if (price.between || outside === 0) return price;
  const whole = (speedup: number) =>
    (view.step.unprofiled + outside) / (view.step.unprofiled / speedup + outside);
  const { low, likely, high } = price.speedup;
  return { ...price, speedup: { low: whole(low), likely: whole(likely), high: whole(high) } };
}

/** The estimate that decides the bottleneck also decides the gain: as recorded, the fix may gain nothing. */
function asDisputed(price: Price, view: RankView): Price {
  if (!isDisputed(view)) return price;
  const { low, likely, high } = price.speedup;
  return { ...price, speedup: { low: Math.min(1, low), likely: Math.sqrt(Math.max(1, likely)), high } };
}

function addTo(reasons: Map<string, string[]>, name: string, reason: string): void {
  const known = reasons.get(name);
  if (known) known.push(reason);
  else reasons.set(name, [reason]);
}

/** Rules that share an alias are silent together. What one of them could see decides, not what another could not. */
function joinReasons(reasons: readonly string[]): string {
  const distinct = [...new Set(reasons)];
  const telling = distinct.filter((r) => r !== NEEDS_TRACE.silent);
  return (telling.length > 0 ? telling : distinct).join('; ');
}

function failure(rule: Rule, error: unknown): Problem {
  return {
    code: 'rule-failed',
    count: 1,
    message: `rule ${rule.info.id} failed: ${error instanceof Error ? error.message : String(error)}`,
    consequence: 'please report it; the other rules ran',
    first: null,
  };
}

/** Figures that cannot be are a fault of ours: the finding is withheld. Null: there are none. */
function faultOf({ evidence, price, addresses }: RankFinding, view: RankView): string | null {
  const { step, time } = view;
  // Recorded and estimated steps differ by a few percent.
  const longest = 1.05 * toMs(ns(Math.max(step.recorded, step.whole)));
  if (evidence.some(({ unit, value }) => unit === 'ms/step' && value !== null && value > longest))
    return 'found more time per step than a step has';
  const classes = addresses && MAY_SHRINK[addresses];
  // Without an edit the price is of the run, not of this rank's step.
  if (!price?.edit || price.between || !classes || view.divided.by === 'log') return null;
  const mayShrink = classes.reduce((sum, c) => sum + time[c], 0);
  const saved = step.unprofiled * (1 - 1 / price.speedup.likely);
  return saved > MOST_OF_CLASS * mayShrink + 0.01 * step.unprofiled
    ? 'predicts that a fix saves more time than there is to save'
    : null;
}

const NOT_THE_DEVICE = ['idle_host', 'idle_sync', 'idle_compile', 'idle_data', 'idle_other', 'copy'] as const;
/** What a fix can make shorter, at most, by what it addresses. Null: anything. */
const MAY_SHRINK: Readonly<Record<Bottleneck, readonly TimeClass[] | null>> = {
  gpu: ['compute', 'copy', 'idle_other'],
  compute: null,
  host: NOT_THE_DEVICE,
  data: NOT_THE_DEVICE,
  comms: ['comms_transfer', 'comms_wait', 'idle_comms', 'idle_other'],
  unknown: null,
};
/** A replay overlaps what is left better than the recording did. */
const MOST_OF_CLASS = 1.25;

const impossible = ({ info }: Rule, fault: string): Problem => ({
  code: 'impossible-figure',
  count: 1,
  message: `rule ${info.id} ${fault}`,
  consequence: 'its finding is withheld; please report it, this is a fault of whyslow',
  first: null,
});

interface Joined extends Found {
  readonly ranks: readonly number[];
  readonly further: Joined | null;
}

/** The same finding on several ranks is one; the rank that would gain most represents it. */
function joinRanks(all: readonly Found[]): Joined[] {
  const byId = new Map<string, Found & { readonly ranks: Set<number> }>();
  for (const { rule, view, finding, advice } of all) {
    const known = byId.get(finding.id);
    // Traces of several runs may be of one rank.
    const ranks = known?.ranks ?? new Set<number>();
    for (const rank of view ? [view.rank] : (finding.ranks ?? [])) ranks.add(rank);
    if (!(known && gainOf(known.finding) >= gainOf(finding)))
      byId.set(finding.id, { rule, view, finding, advice, ranks });
  }
  return [...byId.values()].map((joined) => ({ ...joined, ranks: [...joined.ranks], further: null }));
}

const gainOf = ({ price }: RankFinding) => price?.speedup.likely ?? 0;
const costOf = ({ advice }: Found): Cost => advice.cost ?? 'code';
const costRank = (found: Found): number => COSTS.indexOf(costOf(found));

/** All others wait for a late rank; but one that was late once, or by little, is not what to begin with. */
const WORTH_FIRST = 1.05;

/**
 * What the verdict names first, then a late rank, if it costs enough. Then what is likely to gain most, whatever it addresses,
 * and at last advice on measuring. A gain that is not known counts as little, and as less away from the bottleneck.
 */
function inOrder(all: readonly Joined[], { bottleneck, cause }: RunFacts['verdict']): Joined[] {
  const target = timeOf(bottleneck);
  const groupOf = ({ finding, rule }: Joined) => {
    if (finding.id === cause) return 0;
    if (rule.comesFirst && (finding.price?.speedup.likely ?? WORTH_FIRST) >= WORTH_FIRST) return 1;
    return finding.addresses === null ? 3 : 2;
  };
  return [0, 1, 2, 3].flatMap((group) =>
    byWorth(
      all.filter((f) => groupOf(f) === group),
      target,
    ),
  );
}

/** Each finding with the one that extends it. What extends a finding that is there is no finding of its own. */
function withLevels(all: readonly Joined[]): Joined[] {
  const ids = new Set<string>(all.map((f) => f.finding.id));
  const extending = all.filter(({ rule }) => ids.has(rule.furtherThan ?? ''));
  return all
    .filter((f) => !extending.includes(f))
    .map((f) => ({ ...f, further: extending.find(({ rule }) => rule.furtherThan === f.finding.id) ?? null }));
}

/** A fix that is worth this part of the best one is worth about as much. */
const ALIKE = 0.75;
/**
 * Part of the step that a fix without a price is taken to save, if it addresses the bottleneck, and otherwise. A pattern alone
 * may cost nothing: in the zoo T18 fires on most host-bound loops, whatever fault they have.
 */
const UNKNOWN_SAVING = { ofBottleneck: 0.03, other: 0.01 } as const;

/**
 * The largest likely saving first, weighted by how sure the finding is; among about equal ones, what addresses the bottleneck,
 * and then the cheapest fix. A larger fix counts for the one that it extends.
 */
function byWorth(findings: readonly Joined[], target: ReturnType<typeof timeOf>): Joined[] {
  const saving = (f: Joined): number => {
    // A busy machine makes every fault look smaller than it is, and the job cannot change it.
    if (f.finding.outside) return UNKNOWN_SAVING.other;
    if (f.finding.price === null)
      return f.finding.addresses === target ? UNKNOWN_SAVING.ofBottleneck : UNKNOWN_SAVING.other;
    return Math.max(0, 1 - 1 / Math.max(gainOf(f.finding), f.further ? gainOf(f.further.finding) : 0));
  };
  const elsewhere = (f: Joined) => Number(f.finding.addresses !== target);
  const worth = new Map(findings.map((f) => [f, saving(f) * f.finding.confidence]));
  const left = findings.toSorted((a, b) => worth.get(b)! - worth.get(a)!);
  const ordered: Joined[] = [];
  while (left.length > 0) {
    const best = worth.get(left[0]!)!;
    const alike = left.filter((f) => worth.get(f)! >= ALIKE * best);
    const next = alike.toSorted((a, b) => elsewhere(a) - elsewhere(b) || costRank(a) - costRank(b))[0]!;
    ordered.push(next);
    left.splice(left.indexOf(next), 1);
  }
  return ordered;
}

/**
 * Each speedup is that of the fix by itself. What a fix *saves* is what it adds to those listed before it: their edits are
 * replayed together, so that time which two fixes would win back is counted once.
 */
function withSavings(ordered: readonly Joined[], lines: readonly HostLine[]): Finding[] {
  const applied = new Map<RankView, { edits: Edit[]; after: Ns; floor: Ns }>();
  // Ranks share their step: what one rank's fix wins back cannot be won again on another.
  let left: number = largest(ordered.map((f) => (f.view ? f.view.step.whole : 0)));
  const savingOf = (view: RankView, price: Price): Ns => {
    if (price.between) {
      const saved = Math.min(left, view.step.whole - price.after);
      left -= saved;
      return ns(saved);
    }
    const state = applied.get(view) ?? { edits: [], after: view.step.unprofiled, floor: ns(0) };
    applied.set(view, state);
    if (price.edit) state.edits.push(price.edit);
    state.floor = ns(Math.max(state.floor, price.floor));
    const together =
      price.edit && view.source === 'trace' ? replayAll(view, state.edits, state.floor) : price.after;
    const saving = Math.min(left, Math.max(0, state.after - together));
    left -= saving;
    state.after = ns(Math.min(state.after, together));
    return ns(saving);
  };
  return ordered.map((joined) => {
    const { rule, view, finding, advice, ranks, further } = joined;
    const saving = finding.price && view && toMs(savingOf(view, finding.price));
    return {
      id: finding.id,
      rule: reportedAs(rule),
      title: finding.title,
      confidence: finding.confidence,
      ranks,
      cost: costOf(joined),
      risk: advice.risk,
      evidence: [...finding.evidence, ...(view ? lineEvidence(rule.lines, lines, view.rank) : [])],
      fix: fixOf(joined),
      further: further?.finding.price && further.view ? levelOf(further, saving ?? 0) : null,
      addresses: finding.addresses,
      speedup: finding.price && view && rounded(finding.price.speedup),
      saving_ms: saving,
    };
  });

  function levelOf({ finding, view, advice }: Joined, before: number): Finding['further'] {
    const { fix } = advice;
    return {
      id: finding.id,
      title: finding.inShort ?? finding.title,
      fix: { text: `${fix.text}${finding.note ?? ''}`, code: fix.code },
      speedup: rounded(finding.price!.speedup),
      saving_ms: ms(before + toMs(savingOf(view!, finding.price!))),
    };
  }
}

function adviceOf(
  rule: Rule,
  { remedy }: RankFinding,
  view: RankView | null,
  { captured }: RunFacts,
): Advice {
  const own = view ? captured.get(view.rank) : [...captured.values()][0];
  // Operators without a backward pass: whatever else they are, they are no training loop.
  const inference =
    view?.source === 'trace' && view.facts.program.task !== 'training' && view.facts.hasHostEvents;
  return advise(remedy ?? use(rule.info.remedy), own?.loader?.framework, inference);
}

const fixOf = ({ finding, advice: { fix } }: Joined): Finding['fix'] => ({
  text: `${fix.text}${finding.note ?? ''}`,
  code: fix.code,
});

function replayAll(view: TraceView, edits: readonly Edit[], floor: number): number {
  const { plan, recording } = view.baseline!;
  const edited = copyPlan(plan);
  for (const edit of edits) edit(edited, 'likely');
  return Math.max(floor, stepWith(view, view.baseline!, replaySteady(edited, recording.likely).step));
}

const rounded = ({ low, likely, high }: Price['speedup']) => ({
  low: Math.round(low * 1000) / 1000,
  likely: Math.round(likely * 1000) / 1000,
  high: Math.round(high * 1000) / 1000,
});
