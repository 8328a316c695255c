import type { Diagnosis } from '../diagnosis/diagnosis.js';
import { logOf } from '../ingest/input.js';
import type { EventLogRun } from '../model/event-log.js';
import type { JobOverTime } from './page-data.js';

const MAX_SLICES = 60;

/** A moment of the job: seconds since the process began, and what each phase had taken until then. */
interface Mark {
  readonly at: number;
  readonly spent: ReadonlyMap<string, number>;
}

/**
 * The wall time of the process from start to end. A log says at every recorded step what the job had spent outside steps
 * until then: the rest of the time between two of them is training. Null: no log says it.
 */
export function jobOverTime({ jobView, members }: Diagnosis): JobOverTime | null {
  const job = jobView?.job;
  const log = members.find((m) => m.rank === jobView?.rank && logOf(m.member))?.member;
  const run = log && logOf(log)?.runs.at(-1);
  if (!job || !run || !(job.wall > 0)) return null;
  const [wall, startUp, end] = [job.wall / 1e9, job.startUp / 1e9, job.end / 1e9];
  const outside = job.phases.filter((p) => !p.own);
  const total = new Map(outside.map((p) => [p.name, p.ns / 1e9]));
  const inside = marksOf(run, startUp).filter((mark) => mark.at > startUp && mark.at < wall - end);
  const marks = thinned([{ at: startUp, spent: new Map() }, ...inside, { at: wall, spent: total }], wall);
  const phases = ['start-up', 'steps', ...outside.map((p) => p.name), 'end'];
  const seconds = marks.slice(1).map((mark, i) => {
    const before = marks[i]!;
    const spent = new Map(
      outside.map(({ name }) => [
        name,
        Math.max(0, (mark.spent.get(name) ?? 0) - (before.spent.get(name) ?? 0)),
      ]),
    );
    if (mark.at === wall) spent.set('end', end);
    const rest = mark.at - before.at - [...spent.values()].reduce((sum, s) => sum + s, 0);
    spent.set('steps', Math.max(0, rest));
    return phases.map((name) => spent.get(name) ?? 0);
  });
  const first = phases.map((name) => (name === 'start-up' ? startUp : 0));
  return { phases, bounds: [0, ...marks.map((m) => m.at)], seconds: [first, ...seconds] };
}

/** At each recorded step. */
function marksOf({ step, startMs, outside, names }: EventLogRun, startUp: number): Mark[] {
  const startOf = new Map<number, number>();
  for (let row = 0; row < step.length; row++) {
    const start = startMs[row]!;
    if (start < (startOf.get(step[row]!) ?? Number.POSITIVE_INFINITY)) startOf.set(step[row]!, start);
  }
  const spentAt = new Map<number, Map<string, number>>();
  for (let row = 0; row < outside.step.length; row++) {
    const spent = spentAt.get(outside.step[row]!) ?? new Map<string, number>();
    spent.set(names[outside.name[row]!]!, outside.ms[row]! / 1e3);
    spentAt.set(outside.step[row]!, spent);
  }
  return [...startOf]
    .map(([number, start]) => ({ at: startUp + start / 1e3, spent: spentAt.get(number) ?? new Map() }))
    .sort((a, b) => a.at - b.at);
}

/** Marks at least a slice apart; the first and the last stay. */
function thinned(marks: readonly Mark[], wall: number): Mark[] {
  const kept = [marks[0]!];
  for (const mark of marks.slice(1, -1)) if (mark.at - kept.at(-1)!.at >= wall / MAX_SLICES) kept.push(mark);
  return [...kept, marks.at(-1)!];
}
