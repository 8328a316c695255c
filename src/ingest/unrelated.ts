import { ProblemLog } from '../base/problem.js';
import { formatCount } from '../base/units.js';
import { isTraceInput, type TraceInput } from './input.js';
import type { RankedInput } from './ranks.js';
import type { RunInputs } from './read-run.js';

type RankedTrace = RankedInput & TraceInput;

/** Ranks of a run begin to record within a minute (31 s apart was seen). Clocks of machines differ by less than a second. */
const MEET_NS = 60_000_000_000n;
const CLOCKS_NS = 1_000_000_000n;
/** Names of traces in a message. */
const NAMED = 5;

/**
 * Keeps one of several traces that nothing connects: no file names a rank or a run, and they neither communicate nor were recorded
 * at the same time. These are several runs, and comparing them as ranks would mislead. It is the one with the most traces, and of
 * those the newest.
 */
export function keepRelated(inputs: RunInputs): RunInputs {
  const traces = inputs.members.filter((m): m is RankedTrace => isTraceInput(m));
  const isNumbered = (m: RankedTrace) => m.rankSource !== 'order' || m.isPart || m.summary?.run != null;
  if (traces.length < 2 || traces.length < inputs.members.length || traces.some(isNumbered)) return inputs;
  const runs = relatedOf(traces);
  if (runs.length < 2) return inputs;
  const kept = runs.reduce((a, b) => (isBetter(b, a) ? b : a));
  const names = runs.map((run) => run.map((t) => t.path).join(' and '));
  const more = runs.length > NAMED ? ` and ${runs.length - NAMED} more` : '';
  const problems = new ProblemLog();
  problems.addAll(inputs.problems.filter((p) => p.code !== 'duplicate-rank' && p.code !== 'rank-from-order'));
  problems.add('unrelated-traces', {
    message: `nothing connects these traces, so they are ${formatCount(runs.length, 'run')}: ${names.slice(0, NAMED).join(', ')}${more}`,
    consequence: `only ${kept.map((t) => t.path).join(' and ')} was analyzed; pass the path of another to analyze that`,
  });
  const members = kept.map((trace, rank) => ({ ...trace, rank: kept.length > 1 ? trace.rank : rank }));
  return { ...inputs, members, problems: problems.list() };
}

/** Traces that belong together, in the order of the files. */
function relatedOf(traces: readonly RankedTrace[]): readonly (readonly RankedTrace[])[] {
  const runs: RankedTrace[][] = [];
  for (const trace of traces) {
    const own = runs.filter((run) => run.some((other) => areRelated(trace, other)));
    const joined = [...own.flat(), trace];
    const rest = runs.filter((run) => !own.includes(run));
    runs.splice(0, runs.length, ...rest, joined);
  }
  return runs;
}

function areRelated(a: RankedTrace, b: RankedTrace): boolean {
  // One process recorded them in turn.
  if (a.rank === b.rank) return true;
  const communicate = [a, b].every((t) => (t.facts?.collectives ?? null) !== null);
  const [first, second] = [a.summary?.window, b.summary?.window];
  if (!first || !second) return communicate;
  if (first.startNs === null || first.endNs === null || second.startNs === null || second.endNs === null)
    return communicate;
  const apart = communicate ? MEET_NS : CLOCKS_NS;
  return first.startNs <= second.endNs + apart && second.startNs <= first.endNs + apart;
}

function isBetter(a: readonly RankedTrace[], b: readonly RankedTrace[]): boolean {
  const began = (run: readonly RankedTrace[]) =>
    run.reduce(
      (latest, t) => ((t.summary?.window.startNs ?? 0n) > latest ? t.summary!.window.startNs! : latest),
      0n,
    );
  return a.length === b.length ? began(a) > began(b) : a.length > b.length;
}
