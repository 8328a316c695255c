import { CoverageCursor, NO_SPANS, type Spans, subtract, union, unionOf } from '../../base/intervals.js';
import { type TimeByClass, type TimeClass, totals } from '../timeline/accounting.js';
import type { Amounts } from './amounts.js';
import { computeSource } from './divide.js';
import type { PhaseRole } from './phases.js';
import type { StepPeriods } from './step-periods.js';
import type { RankRecords, RecordedPhase } from './step-records.js';

/**
 * Divides steps by when phases ran; an instant belongs to the first class that covers it. Null when that cannot be done:
 * without all start times, over several starts of a run, or where waits are timed by the host and computing only as part
 * of the whole step, which covers the waits whether the device worked meanwhile or not.
 */
export function divideBySpans(records: RankRecords, periods: StepPeriods, mean: Amounts): TimeByClass | null {
  const { starts, ns } = periods;
  const source = computeSource(mean);
  if (!starts || source?.clock !== 'device') return null;
  const hostWaits = mean.data.host + mean.copy.host + mean.metrics.host;
  if (source.role === 'whole' && hostWaits > 0) return null;
  const { generation } = periods.steps[0]!;
  if (periods.steps.some((s) => s.generation !== generation)) return null;
  // Steps outside those that count too: their phases may reach into these.
  const steps = records.steps.filter((s) => s.generation === generation);
  if (steps.some((s) => [...s.parts.values()].some((parts) => parts.some((p) => Number.isNaN(p.start)))))
    return null;

  const byPhase = records.phases.map((): [start: number, end: number][] => []);
  for (const step of steps) {
    for (const [place, parts] of step.parts) {
      for (const p of parts) byPhase[place]!.push([p.start, p.start + p.ns]);
    }
  }
  const spansOf = (isWanted: (phase: RecordedPhase) => boolean) =>
    unionOf(byPhase.filter((_, place) => isWanted(records.phases[place]!)).flat());
  const of = (role: PhaseRole, onHost = false) => spansOf((p) => p.role === role && p.onHost === onHost);
  const isHosts = (p: RecordedPhase) =>
    (records.allHost || p.onHost) && ['compute', 'whole', 'own'].includes(p.role);
  const byTurn: [TimeClass, Spans][] = [
    ['comms_transfer', spansOf((p) => p.role === 'comms')],
    // Copies of the next batch on their own stream run while the model's phases do.
    ['compute', of('compute')],
    ...([
      ['idle_data', of('data')],
      ['copy', of('copy')],
      ['idle_sync', of('metrics')],
    ] as [TimeClass, Spans][]),
    ['compute', source.role === 'whole' ? of('whole') : NO_SPANS],
    ...([
      ['idle_data', of('data', true)],
      ['copy', of('copy', true)],
    ] as [TimeClass, Spans][]),
    ['idle_sync', of('metrics', true)],
    ['idle_host', spansOf(isHosts)],
  ];
  const time = totals(() => 0) as Record<TimeClass, number>;
  let covered: Spans = NO_SPANS;
  for (const [name, spans] of byTurn) {
    const cursor = new CoverageCursor(subtract(spans, covered));
    for (const [i, start] of starts.entries())
      time[name] += cursor.covered(start, start + ns[i]!) / ns.length;
    covered = union(covered, spans);
  }
  const step = ns.reduce((a, b) => a + b, 0) / ns.length;
  time.idle_other = Math.max(0, step - Object.values(time).reduce((a, b) => a + b, 0));
  return time;
}
