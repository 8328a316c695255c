import { CoverageCursor, type Spans, unionOf } from '../base/intervals.js';
import type { EventLogRun } from '../model/event-log.js';
import type { Part, RankRecords, RecordedStep } from './step-records.js';

/** Names of the phases that the job spends outside its steps, as the totals of this run have them. */
export function outsideNames(run: EventLogRun): ReadonlySet<string> {
  return new Set([...new Set(run.outside.name)].map((name) => run.names[name]!));
}

/**
 * The records of a job that does nothing but train: every instant moves forward by the time that the job spent outside its
 * steps before it, and phases get shorter by what was inside them.
 */
export function trainingOnly(
  records: RankRecords,
  run: EventLogRun,
  names: ReadonlySet<string>,
): RankRecords {
  if (names.size === 0) return records;
  const before = totalsBySteps(run, records.rank);
  const isOutside = records.phases.map((p) => names.has(p.name));
  const kept = isOutside.flatMap((outside, phase) => (outside ? [] : [phase]));
  const steps = records.steps.map((step) => ({
    number: step.number,
    generation: step.generation,
    parts: withoutOutside(step, kept, spansIn(step, isOutside), before.get(step.number) ?? 0),
  }));
  return {
    ...records,
    phases: kept.map((phase) => records.phases[phase]!),
    steps: steps.filter((s) => s.parts.size > 0),
  };
}

/** ns outside steps before each step. */
function totalsBySteps({ outside }: EventLogRun, rank: number): ReadonlyMap<number, number> {
  const totals = new Map<number, number>();
  for (let row = 0; row < outside.step.length; row++) {
    if (outside.rank[row] !== rank) continue;
    const step = outside.step[row]!;
    totals.set(step, (totals.get(step) ?? 0) + outside.ms[row]! * 1e6);
  }
  return totals;
}

function spansIn({ parts }: RecordedStep, isOutside: readonly boolean[]): Spans {
  const spans: [number, number][] = [];
  for (const [phase, list] of parts) {
    if (!isOutside[phase]) continue;
    for (const { start, ns } of list) if (!Number.isNaN(start)) spans.push([start, start + ns]);
  }
  return unionOf(spans);
}

function withoutOutside(
  { parts }: RecordedStep,
  kept: readonly number[],
  outside: Spans,
  shift: number,
): ReadonlyMap<number, readonly Part[]> {
  const cursor = new CoverageCursor(outside);
  const move = (part: Part): Part => {
    const inside = cursor.covered(part.start, part.start + part.ns);
    const earlier = cursor.covered(Number.NEGATIVE_INFINITY, part.start);
    return {
      start: part.start - shift - earlier,
      ns: Math.max(0, part.ns - inside),
      hostNs: Math.max(0, part.hostNs - inside),
      lag: part.lag,
    };
  };
  return new Map(
    kept.flatMap((phase, index) => {
      const list = parts.get(phase);
      return list ? [[index, list.map(move)] as const] : [];
    }),
  );
}
