import { largest, mean, median } from '../base/statistics.js';
import { bytes, formatBytes, formatCount } from '../base/units.js';
import type { StepComparison } from '../compare/step-times/step-comparison.js';
import { pasteLines as linesOf, TRIALS } from '../remedies/remedies.js';
import { compareLosses, type LossComparison, type Losses } from './losses.js';
import type { PlannedFix } from './plan.js';
import type { RankResult } from './rank-result.js';
import type { TurnEnd } from './run-turn.js';
import { foundSomething, type Session, together } from './session.js';
import type { AsItIs, Outcome, Trial, TryReport } from './trials.js';

interface Circumstances {
  readonly command: readonly string[];
  readonly started: Date;
  readonly seconds: number;
}

const NO_LOSSES: LossComparison = { verdict: 'unknown', difference: null, steps: 0 };

/** What all turns together say. */
export function concludeTrials(
  plan: readonly PlannedFix[],
  session: Session,
  { command, started, seconds }: Circumstances,
): TryReport {
  const gains = session.comparisons();
  const asItIs = measuredOf(session.endsOf(null));
  const singles = plan.map((planned) => trialOf([planned], session, gains, asItIs));
  const combined = [...new Set(session.turns.map(({ variant }) => variant))]
    .filter((variant): variant is string => variant?.includes(' + ') ?? false)
    .map((variant) => {
      const ids = variant.split(' + ');
      return trialOf(
        plan.filter(({ fix }) => ids.includes(fix.id)),
        session,
        gains,
        asItIs,
      );
    });
  const trials = [...singles, ...combined];
  const best = bestOf(trials);
  const first = asItIs[0];
  const framework = first?.framework ?? 'plain';
  const applied = best ? (measuredOf(session.endsOf(best.fix))[0]?.applied ?? {}) : {};
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
    paste: best ? pasteLines(best.fixes, framework, applied) : [],
    notes: notesOf(asItIs, session),
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

function trialOf(
  planned: readonly PlannedFix[],
  session: Session,
  gains: ReadonlyMap<string, StepComparison>,
  asItIs: readonly RankResult[],
): Trial {
  const ids = planned.map(({ fix }) => fix.id);
  const variant = together(ids);
  const ends = session.endsOf(variant);
  const results = measuredOf(ends);
  const judged = judge(variant, ends, gains.get(variant));
  const counts = judged.outcome !== 'not-applicable';
  const [one] = planned;
  const isSingle = planned.length === 1;
  const gain = counts ? gains.get(variant) : undefined;
  return {
    fix: variant,
    fixes: ids,
    title: isSingle ? one!.fix.title : 'together',
    finding: isSingle ? (one!.because?.id ?? null) : null,
    rule: isSingle ? (one!.because?.rule ?? null) : null,
    predicted: isSingle ? one!.predicted : null,
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

function judge(
  variant: string,
  ends: readonly TurnEnd[],
  gain: StepComparison | undefined,
): { readonly outcome: Outcome; readonly reason: string | null } {
  const ended = ends.filter((end) => end.kind !== 'interrupted');
  const failed = ended.find((end) => end.kind !== 'measured');
  if (ended.length === 0) return { outcome: 'not-tried', reason: null };
  if (failed)
    return { outcome: failed.kind === 'timed-out' ? 'timed-out' : 'crashed', reason: failed.reason };
  const [first] = measuredOf(ended);
  if (!ended.every(foundSomething)) {
    const why = first!.refused[variant] ?? 'it found nothing to change';
    return { outcome: 'not-applicable', reason: why };
  }
  return { outcome: gain?.verdict ?? 'cannot-tell', reason: null };
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

function notesOf(asItIs: readonly RankResult[], session: Session): readonly string[] {
  const notes: string[] = [];
  const [first] = asItIs;
  const broken = session.endsOf(null).find((end) => end.kind !== 'measured' && end.kind !== 'interrupted');
  if (broken) notes.push(`the unchanged job failed: ${broken.reason}`);
  if (session.stopped === 'budget')
    notes.push('the budget is spent (--budget); longer budgets give narrower intervals');
  if ([...session.comparisons().values()].some((gain) => gain.verdict === 'cannot-tell'))
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

/** The lines that make these fixes permanent, in the words of the framework whose loop made the steps. */
export function pasteLines(
  ids: readonly string[],
  framework: string,
  applied: RankResult['applied'],
): readonly string[] {
  const tried = TRIALS.filter(({ id }) => ids.includes(id));
  return linesOf(
    tried.map(({ id, paste }) => paste(numberUsed(applied[id]))),
    framework,
  );
}

/** Texts of applied fixes end in the new value: `num_workers 0 → 12`. */
function numberUsed(texts: readonly string[] | undefined): number | 'N' {
  const used = texts?.map((text) => /→ (\d+)/.exec(text)?.[1]).find((number) => number !== undefined);
  return used === undefined ? 'N' : Number(used);
}
