import { largest } from '../base/statistics.js';
import type { Incident } from '../model/incident.js';
import { logOf } from './input.js';
import type { RunInputs } from './read-run.js';

/** Of the runs that are analyzed; a file that names no run is of any. */
export function incidentsOf({ beside, runs }: Pick<RunInputs, 'beside' | 'runs'>): readonly Incident[] {
  const others = new Set(runs.filter((r) => !r.isAnalyzed).map((r) => r.id));
  return beside
    .flatMap(({ evidence }) => evidence.incidents ?? [])
    .filter(({ run }) => run === null || !others.has(run));
}

/** While these last, steps are not what they were. */
const LASTING: ReadonlySet<Incident['kind']> = new Set(['slower', 'growing', 'behind']);

/**
 * Whether a step belongs to the state in which the run spent most of its time: its slow-downs, or what is usual for it. Null: nothing
 * lasting happened, or it is not known how long the run was.
 */
export function mainState(inputs: RunInputs): ((step: number) => boolean) | null {
  const slow = incidentsOf(inputs).filter((i) => i.alarm && LASTING.has(i.kind));
  const last = largest(inputs.members.flatMap((m) => logOf(m)?.runs ?? []).map((run) => largest(run.step)));
  if (slow.length === 0 || !(last > 0)) return null;
  const isSlow = (step: number) => slow.some((i) => i.step <= step && step < (i.until_step ?? Infinity));
  const edges = [0, last, ...slow.flatMap((i) => [i.step, i.until_step ?? last])]
    .filter((step) => step <= last)
    .sort((a, b) => a - b);
  let [slowMs, usualMs] = [0, 0];
  for (const [n, from] of edges.slice(0, -1).entries()) {
    const steps = edges[n + 1]! - from;
    const of = slow.filter((i) => i.step <= from && from < (i.until_step ?? Infinity));
    if (of.length > 0) slowMs += steps * largest(of.map((i) => i.after_ms));
    else usualMs += steps * slow[0]!.before_ms;
  }
  const isMostlySlow = slowMs > usualMs;
  return (step) => isSlow(step) === isMostlySlow;
}
