import { largest, mean, median } from '../base/statistics.js';
import { bytes, formatBytes, formatCount } from '../base/units.js';
import type { StepComparison } from '../compare/step-times/step-comparison.js';
import { pasteLines, TRIALS, type Use } from '../remedies/remedies.js';
import { type Change, together, variantOf } from './change.js';
import { compareLosses, type LossComparison, type Losses } from './losses.js';
import { type Patch, patchFor } from './patch.js';
import type { PlannedFix } from './plan.js';
import { numberUsed, type RankResult } from './rank-result.js';
import type { TurnEnd } from './run-turn.js';
import { foundSomething, type Session } from './session.js';
import type { AsItIs, Outcome, SearchedNumber, Trial, TryReport } from './trials.js';

interface Circumstances {
  readonly command: readonly string[];
  readonly started: Date;
  readonly seconds: number;
  /** Where the command runs. */
  readonly folder: string;
}

const NO_PATCH: Patch = { text: null, byHand: [] };
const NO_LOSSES: LossComparison = { verdict: 'unknown', difference: null, steps: 0, same: 0 };

/** What all turns together say. */
export async function concludeTrials(
  plan: readonly PlannedFix[],
  session: Session,
  { command, started, seconds, folder }: Circumstances,
): Promise<TryReport> {
  const gains = session.comparisons();
  const asItIs = measuredOf(session.endsOf(null));
  const tried = { session, gains, asItIs };
  const combined = new Map(
    session.turns.flatMap(({ changes, variant }) => (changes.length > 1 ? [[variant, changes]] : [])),
  );
  const variants = [...plan.map((planned) => [session.chosen(planned)]), ...combined.values()];
  const trials = variants.map((changes) => trialOf(changes, plan, tried));
  const best = bestOf(trials);
  const first = asItIs[0];
  const framework = first?.framework ?? 'plain';
  const [result] = best ? measuredOf(session.endsOf(variantOf(variants[trials.indexOf(best)]!))) : [];
  const uses = best && result ? usesOf(best.fixes, result) : [];
  const patch = result ? await patchFor({ uses, framework, result }, command, folder) : NO_PATCH;
  return {
    schema: 'whyslow/try/1',
    command,
    started: started.toISOString(),
    device: first?.device ?? null,
    torch: first?.torch ?? null,
    framework,
    ranks: first?.worldSize ?? 0,
    as_it_is: sumUp(asItIs),
    trials,
    best: best?.fix ?? null,
    paste: pasteLines(uses, framework),
    patch: patch.text,
    by_hand: patch.byHand,
    notes: notesOf(asItIs, session, trials),
    seconds,
    complete: session.stopped === null,
  };
}

/** By rank 0 of every turn: ranks wait for each other in each step. */
const measuredOf = (ends: readonly TurnEnd[]): readonly RankResult[] =>
  ends.flatMap((end) => (end.kind === 'measured' ? [end.ranks[0]!] : []));

function sumUp(results: readonly RankResult[]): AsItIs | null {
  if (results.length === 0) return null;
  return {
    step_ms: median(results.map((result) => mean(result.stepMs))),
    memory_mb: memoryOf(results),
    turns: results.length,
    steps: results.reduce((sum, result) => sum + result.stepMs.length, 0),
  };
}

function memoryOf(results: readonly RankResult[]): number | null {
  const known = results.flatMap(({ memoryMb }) => (memoryMb === null ? [] : [memoryMb]));
  return known.length === 0 ? null : largest(known);
}

interface Tried {
  readonly session: Session;
  readonly gains: ReadonlyMap<string, StepComparison>;
  readonly asItIs: readonly RankResult[];
}

function trialOf(changes: readonly Change[], plan: readonly PlannedFix[], tried: Tried): Trial {
  const { session, gains, asItIs } = tried;
  const variant = variantOf(changes);
  const ids = changes.map(({ fix }) => fix);
  const results = measuredOf(session.endsOf(variant));
  const judged = judge(changes, tried);
  const counts = judged.outcome !== 'not-applicable';
  const one = changes.length === 1 ? plan.find(({ fix }) => fix.id === ids[0]) : undefined;
  const gain = counts ? gains.get(variant) : undefined;
  return {
    fix: together(ids),
    fixes: ids,
    title: one?.fix.title ?? 'together',
    finding: one?.because?.id ?? null,
    rule: one?.because?.rule ?? null,
    predicted: one?.predicted ?? null,
    advised: one?.advised ?? null,
    value: one ? (changes[0]?.value ?? null) : null,
    searched: one ? session.numbersOf(ids[0]!).map((value) => numberOf({ fix: ids[0]!, value }, tried)) : [],
    measured: gain?.speedup ?? null,
    step_ms: gain?.after.ms ?? null,
    losses: counts && results.length > 0 ? lossesOf(asItIs, results) : NO_LOSSES,
    memory_mb: memoryOf(results),
    applied: Object.values(results[0]?.applied ?? {}).flat(),
    outcome: judged.outcome,
    reason: judged.reason,
    start_s: counts ? startOf(asItIs, results) : null,
    graph_breaks: results[0]?.graphBreaks ?? {},
    turns: results.length,
  };
}

/** What one number of a search gave. */
function numberOf(change: Change, tried: Tried): SearchedNumber {
  const gain = tried.gains.get(variantOf([change]));
  const measured = gain?.speedup ?? null;
  return { value: change.value!, measured, step_ms: gain?.after.ms ?? null, ...judge([change], tried) };
}

function judge(
  changes: readonly Change[],
  { session, gains }: Tried,
): { readonly outcome: Outcome; readonly reason: string | null } {
  const variant = variantOf(changes);
  const ended = session.endsOf(variant).filter((end) => end.kind !== 'interrupted');
  const failed = ended.find((end) => end.kind !== 'measured');
  if (ended.length === 0) return { outcome: 'not-tried', reason: null };
  if (failed)
    return { outcome: failed.kind === 'timed-out' ? 'timed-out' : 'crashed', reason: failed.reason };
  const [first] = measuredOf(ended);
  if (!ended.every(foundSomething)) {
    const why = first!.refused[changes[0]!.fix] ?? 'it found nothing to change';
    return { outcome: 'not-applicable', reason: why };
  }
  return { outcome: gains.get(variant)?.verdict ?? 'cannot-tell', reason: null };
}

function lossesOf(asItIs: readonly RankResult[], results: readonly RankResult[]): LossComparison {
  const [first, ...others] = asItIs.map((result): Losses => result.losses);
  return first ? compareLosses(first, results[0]!.losses, others) : NO_LOSSES;
}

/** Below this nobody notices, and turns of the same job differ by as much. */
const NOTICED_S = 2;
const NOTICED = 0.5;

function startOf(asItIs: readonly RankResult[], results: readonly RankResult[]): number | null {
  if (asItIs.length === 0 || results.length === 0) return null;
  const of = (some: readonly RankResult[]) => median(some.map((result) => result.firstStepS));
  const longer = of(results) - of(asItIs);
  return longer > Math.max(NOTICED_S, NOTICED * of(asItIs)) ? longer : null;
}

/** A combination only where it is not slower than its best part. */
function bestOf(trials: readonly Trial[]): Trial | null {
  const helpful = trials.filter((trial) => trial.outcome === 'faster');
  return helpful.reduce<Trial | null>(
    (best, trial) => (best && best.measured!.likely >= trial.measured!.likely ? best : trial),
    null,
  );
}

function notesOf(
  asItIs: readonly RankResult[],
  session: Session,
  trials: readonly Trial[],
): readonly string[] {
  const notes: string[] = [];
  const [first] = asItIs;
  const broken = session.endsOf(null).find((end) => end.kind !== 'measured' && end.kind !== 'interrupted');
  if (broken) notes.push(`the unchanged job failed: ${broken.reason}`);
  if (session.stopped === 'budget')
    notes.push('the budget is spent (--budget); longer budgets give narrower intervals');
  if (trials.some(({ outcome }) => outcome === 'cannot-tell'))
    notes.push(
      'inconclusive: turns of the same kind differ by as much; more rounds or steps narrow it (--rounds, --steps)',
    );
  if (first && !first.seededByJob) notes.push('the job sets no seed, so trials set seed 0');
  if (first?.why === 'end') notes.push(`the job ended by itself after ${first.losses.length} steps`);
  for (const note of writtenNotes(session.endsOf(null))) notes.push(note);
  const reached = [...new Set(asItIs.flatMap((result) => result.reached))];
  if (reached.length > 0) notes.push(`the job contacted ${someOf(reached)}`);
  const denied = [...new Set(asItIs.flatMap((result) => result.denied))];
  if (denied.length > 0) notes.push(`the job was not allowed to write ${someOf(denied)}`);
  return notes;
}

/** Of one turn: they all write the same. */
function writtenNotes(ends: readonly TurnEnd[]): readonly string[] {
  const wrote = ends.find((end) => end.wrote.files + end.wrote.deleted > 0)?.wrote;
  const readOnly = ends[0]?.wrote.readOnly ?? [];
  const notes = readOnly.length === 0 ? [] : [`the job could only read in ${someOf(readOnly)}`];
  if (!wrote) return notes;
  const deleted = wrote.deleted === 0 ? '' : ` and deleted ${wrote.deleted}`;
  const what = `${formatCount(wrote.files, 'file')} (${formatBytes(bytes(wrote.bytes))})${deleted}`;
  return [...notes, `each turn wrote ${what}, which did not change your files: ${someOf(wrote.paths)}`];
}

const SHOWN = 5;
const someOf = (all: readonly string[]) =>
  all.length <= SHOWN ? all.join(', ') : `${all.slice(0, SHOWN).join(', ')}, …`;

/** The fixes as the catalog names them, with the numbers that a trial used. */
export function usesOf(ids: readonly string[], result: Pick<RankResult, 'applied'>): readonly Use[] {
  const tried = TRIALS.filter(({ id }) => ids.includes(id));
  return tried.map(({ id, paste }) => paste(numberUsed(result, id) ?? 'N'));
}
