import { lengthOf, NO_SPANS, type Spans, subtract, union, unionOf } from '../base/intervals.js';
import { mean } from '../base/statistics.js';
import { type Ns, ns } from '../base/units.js';
import type { JobPhase, JobTime } from '../facts/job-time.js';
import type { EventLogHeader } from '../model/event-log.js';
import type { StepPeriods } from './step-periods.js';
import type { RankRecords, RecordedStep } from './step-records.js';

/** Phases and lengths of texts beyond this are not whyslow_capture's. */
const MAX_PHASES = 32;
const MAX_TEXT = 256;
/** A phase recurs if it comes in at least this part of the job. The first compilations and the last save do not. */
const RECURS_OVER = 0.2;
/** A shorter phase is not listed: it is neither a cost nor a cause. */
const LEAST_LISTED = 0.001;

type Fields = Readonly<Record<string, unknown>>;

/** The wall time of the process, as the header of its log has it. Null: the log says nothing usable about it. */
export function jobTimeOf(header: EventLogHeader | null): JobTime | null {
  const job = fieldsOf(header?.fields.job);
  if (!job) return null;
  const start = numberOf(job.start_ms) ?? Number.NaN;
  const last = numberOf(job.last_step_ms) ?? Number.NaN;
  const end = numberOf(job.end_ms) ?? Number.NaN;
  const steps = numberOf(job.steps) ?? 0;
  if (!(start <= 0 && last >= 0 && end >= last && steps > 0)) return null;
  const phases = Object.entries(fieldsOf(job.phases) ?? {})
    .slice(0, MAX_PHASES)
    .flatMap(([name, value]) => phaseOf(name.slice(0, MAX_TEXT), fieldsOf(value), steps))
    .sort((a, b) => b.ns - a.ns);
  const outside = phases.reduce((sum, p) => sum + p.ns, 0);
  const tail = Math.min(outside, (numberOf(job.tail_ms) ?? 0) * 1e6);
  const [startUp, training] = [-start * 1e6, Math.max(0, last * 1e6 - (outside - tail))];
  const after = Math.max(0, (end - last) * 1e6 - tail);
  return {
    wall: ns(startUp + training + outside + after),
    startUp: ns(startUp),
    compiledFirst: ns(Math.min(startUp, Math.max(0, (numberOf(job.compiled_first_ms) ?? 0) * 1e6))),
    training: ns(training),
    end: ns(after),
    steps,
    iteration: null,
    phases,
  };
}

function phaseOf(name: string, fields: Fields | null, steps: number): JobPhase[] {
  const ms = numberOf(fields?.ms);
  if (!fields || ms === null || ms < 0) return [];
  const [first, last] = [numberOf(fields.first_step), numberOf(fields.last_step)];
  const longest = numberOf(fields.longest_ms);
  return [
    {
      name,
      ns: ns(ms * 1e6),
      count: Math.max(0, Math.round(numberOf(fields.count) ?? 0)),
      longest: longest === null ? null : ns(longest * 1e6),
      recurs: first !== null && last !== null && last - first >= RECURS_OVER * steps,
      own: false,
      call: textOf(fields.call),
      line: textOf(fields.line),
    },
  ];
}

const fieldsOf = (value: unknown): Fields | null =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : null;
const numberOf = (value: unknown): number | null =>
  typeof value === 'number' && Number.isFinite(value) && Math.abs(value) < 1e12 ? value : null;
const textOf = (value: unknown): string | null =>
  typeof value === 'string' && value !== '' ? value.slice(0, MAX_TEXT) : null;

/**
 * The same with the phases that the job's own code names. They are part of its steps, and only recorded steps have them: what
 * they took there counts for all steps alike. `records` are of training only. `step`: mean over all steps of the job, which
 * may differ from the mean of those that were recorded. `most`: the part of it that they can take.
 */
export function withOwnPhases(
  job: JobTime | null,
  records: RankRecords,
  { steps, ns: periods }: StepPeriods,
  step: Ns,
  most: Ns,
): JobTime | null {
  if (!job || steps.length === 0) return job;
  const times = (job.steps / steps.length) * (step / mean(periods));
  const measured = ownTime(records, steps);
  const sum = measured.reduce((all, p) => all + p.time * times, 0);
  const room = Math.min(job.training, most * job.steps);
  const fit = sum > room ? room / sum : 1;
  const own = measured
    .filter(({ time }) => time * times >= LEAST_LISTED * job.training)
    .map(
      ({ name, time, count }): JobPhase => ({
        name,
        ns: ns(time * times * fit),
        count: Math.round((count * job.steps) / steps.length),
        longest: null,
        recurs: true,
        own: true,
        call: null,
        line: null,
      }),
    );
  const taken = own.reduce((sum, p) => sum + p.ns, 0);
  return {
    ...job,
    training: ns(Math.max(0, job.training - taken)),
    phases: [...job.phases, ...own].sort((a, b) => b.ns - a.ns),
  };
}

/** Time of each own phase that no phase of the model covers. Of nested ones the inner has it. */
function ownTime(records: RankRecords, steps: readonly RecordedStep[]) {
  const spans = records.phases.map((_, phase) => spansOf(steps, phase));
  const known = records.phases.flatMap((p, i) => (p.role === 'own' || p.role === 'whole' ? [] : [spans[i]!]));
  let covered = known.reduce(union, NO_SPANS);
  const own = records.phases.flatMap((p, i) =>
    p.role === 'own' ? [{ name: p.name, spans: spans[i]!, phase: i }] : [],
  );
  return own
    .sort((a, b) => lengthOf(a.spans) - lengthOf(b.spans))
    .map(({ name, spans: mine, phase }): { name: string; time: Ns; count: number } => {
      const time = lengthOf(subtract(mine, covered));
      covered = union(covered, mine);
      const count = steps.reduce((sum, s) => sum + (s.parts.get(phase)?.length ?? 0), 0);
      return { name, time: ns(time), count };
    });
}

function spansOf(steps: readonly RecordedStep[], phase: number): Spans {
  const parts = steps.flatMap((s) => s.parts.get(phase) ?? []);
  return unionOf(parts.filter((p) => !Number.isNaN(p.start)).map((p) => [p.start, p.start + p.ns]));
}
