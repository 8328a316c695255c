import { groupBy } from '../base/group-by.js';
import { ProblemLog } from '../base/problem.js';
import { formatRanks } from '../base/rank-ranges.js';
import { largest } from '../base/statistics.js';
import { isTraceInput, type TraceInput, traceFactsOf } from './input.js';
import { mainState } from './main-state.js';
import { areWindowsOfOneProcess, type RankedInput } from './ranks.js';
import type { RunInputs } from './read-run.js';

type RankedTrace = RankedInput & TraceInput;

/**
 * Of ranks that recorded several windows, keeps one: figures of different moments must not be mixed. It is the window that
 * most ranks recorded, and of those the newest that is whole. Ranks with a single trace keep it. If the pace of the run changed
 * lastingly, a window of another state than the one it was in for most of the time is only evidence of the incident.
 */
export function keepOneWindow(inputs: RunInputs): RunInputs {
  const traces = inputs.members.filter(isTrace).filter((t) => traceFactsOf(t));
  const byRank = groupBy(traces, (t) => t.rank);
  const names = new Map([...byRank.values()].flatMap(nameWindows));
  const windowOf = (trace: RankedTrace) => names.get(trace)!;
  const several = [...byRank].filter(([, own]) => new Set(own.map(windowOf)).size > 1);
  if (several.length === 0) return inputs;
  const windows = [...byRank.values()].flatMap(wholeWindows);
  const whole = new Set(usualWindows(windows, mainState(inputs)));
  const chosen = bestWindow([...whole], windowOf);
  const { dropped, earlier } = withoutOthers(several, whole, chosen, windowOf);
  const logged = new Set(inputs.members.filter((m) => m.of === 'log').map((m) => m.rank));
  // The only window of a rank: its log is about the same time as those of the others.
  for (const trace of windows) if (!whole.has(trace) && logged.has(trace.rank)) dropped.add(trace);
  const problems = new ProblemLog();
  problems.addAll(inputs.problems);
  const ranks = several.map(([rank]) => rank);
  const found = new Set(several.flatMap(([, own]) => own.map(windowOf))).size;
  problems.add(
    'other-window',
    {
      message: `${ranks.length > 1 ? 'ranks' : 'rank'} ${formatRanks(ranks)} recorded ${found} windows`,
      consequence: `only ${described(chosen)} was analyzed; pass the path of another trace to analyze that`,
    },
    null,
    dropped.size,
  );
  return {
    ...inputs,
    members: inputs.members
      .filter((m) => !dropped.has(m))
      .map((m) => (earlier.has(m.rank) && isTrace(m) ? { ...m, hasEarlierWindow: true } : m)),
    problems: problems.list(),
  };
}

/** Of each rank, all windows but one, and the ranks that recorded an earlier one too. */
function withoutOthers(
  several: readonly (readonly [number, readonly RankedTrace[]])[],
  whole: ReadonlySet<RankedTrace>,
  chosen: string,
  windowOf: (trace: RankedTrace) => string,
) {
  const dropped = new Set<RankedInput>();
  const earlier = new Set<number>();
  for (const [rank, own] of several) {
    const fitting = own.filter((t) => whole.has(t));
    const usable = fitting.length > 0 ? fitting : own;
    const best = usable.some((t) => windowOf(t) === chosen)
      ? chosen
      : windowOf(usable.toSorted(byTime).at(-1)!);
    const kept = own.find((t) => windowOf(t) === best)!;
    for (const trace of own) {
      if (windowOf(trace) === best) continue;
      dropped.add(trace);
      if (byTime(trace, kept) < 0) earlier.add(rank);
    }
  }
  return { dropped, earlier };
}

const isTrace = (m: RankedInput): m is RankedTrace => isTraceInput(m);

/**
 * Names the windows of a rank, so that ranks that recorded together use the same name: the folder's step, or the recorded
 * steps. If a process counts from 0 again in each window, every repetition adds a `+`.
 */
function nameWindows(own: readonly RankedTrace[]): [RankedTrace, string][] {
  const named = new Map<string, RankedTrace>();
  return own.toSorted(byTime).map((trace) => {
    const { hints, identity } = trace;
    let name = hints.step === null ? identity.window : `${hints.step}`;
    while (named.has(name) && areWindowsOfOneProcess(named.get(name)!, trace)) name += '+';
    named.set(name, trace);
    return [trace, name];
  });
}

/**
 * The windows of a rank without those that the end of the job cut off: `schedule` without `repeat` begins another window,
 * and leaving the profiler writes what there is of it. They have less than half of the steps, or nothing happens in them.
 */
function wholeWindows(own: readonly RankedTrace[]): readonly RankedTrace[] {
  const steps = ({ summary }: RankedTrace) => summary?.steps.length ?? 0;
  const most = largest(own.map(steps));
  const whole = own.filter((trace) => 2 * steps(trace) >= most && hasWork(trace));
  return whole.length > 0 ? whole : own;
}

/** Those of the state that the run was in for most of its time. All, if there is none or if it is not known. */
function usualWindows(
  windows: readonly RankedTrace[],
  isUsual: ((step: number) => boolean) | null,
): readonly RankedTrace[] {
  const usual = windows.filter(({ hints }) => isUsual === null || hints.step === null || isUsual(hints.step));
  return usual.length > 0 ? usual : windows;
}

function hasWork(member: RankedTrace): boolean {
  const facts = traceFactsOf(member)!;
  return facts.hasGpuWork || facts.time.compute > 0;
}

/** A name that says which steps it covers. */
const STEPS = /^\d+(-\d+)?$/;

function described(window: string): string {
  if (!STEPS.test(window)) return 'the newest';
  return window.includes('-') ? `the one of steps ${window}` : `the one of step ${window}`;
}

function bestWindow(traces: readonly RankedTrace[], windowOf: (trace: RankedTrace) => string): string {
  const newestFirst = traces.toSorted((a, b) => byTime(b, a));
  const windows = [...groupBy(newestFirst, windowOf)].map(([window, of]) => ({
    window,
    ranks: new Set(of.map((t) => t.rank)).size,
  }));
  return windows.reduce((best, w) => (w.ranks > best.ranks ? w : best)).window;
}

/** By wall clock, else by step. */
function byTime(a: RankedTrace, b: RankedTrace): number {
  const [first, second] = [a.summary?.window.startNs ?? null, b.summary?.window.startNs ?? null];
  if (first !== null && second !== null) return first < second ? -1 : first > second ? 1 : 0;
  const step = ({ hints, summary }: RankedTrace) => hints.step ?? summary?.steps[0]?.index ?? 0;
  return step(a) - step(b);
}
