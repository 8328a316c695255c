import type { Incident } from '../../model/incident.js';
import type { Explanation } from './explain-change.js';
import { fixOf, sentenceOf } from './incident-words.js';

export interface Moment {
  readonly step: number;
  /** ms since 1970; NaN: not known. */
  readonly time: number;
}

/** What was found. Times in ms per step. */
export interface What extends Pick<Incident, 'kind' | 'change' | 'ranks' | 'cause' | 'evidence'> {
  readonly onset: Moment;
  readonly detected: Moment;
  readonly before: number;
  readonly after: number;
  readonly world: number;
}

/** `price`: of a GPU for an hour; null: not known. */
export function newIncident(id: string, run: string | null, what: What, price: number | null): Incident {
  const { kind, onset, detected, before, after, change, ranks, cause, evidence, world } = what;
  const alarm = kind !== 'faster' && kind !== 'more-work';
  const worded = {
    kind,
    step: onset.step,
    time: isoOf(onset.time),
    before_ms: rounded(before),
    after_ms: rounded(after),
    change: rounded(change),
    ranks,
    cause,
    evidence,
  };
  return {
    schema: 'whyslow/incident/1',
    id,
    run,
    state: 'open',
    alarm,
    detected_step: detected.step,
    detected_time: isoOf(detected.time),
    until_step: null,
    until_time: null,
    ...worded,
    sentence: sentenceOf(worded),
    fix: alarm ? fixOf(cause) : null,
    ...costs(worded, alarm, world, price),
    traces: [],
  };
}

export type Grown = Partial<Pick<Incident, 'kind' | 'after_ms' | 'change'>>;

/** The same incident with the pace of now. */
export function withLevel(incident: Incident, grown: Grown, world: number, price: number | null): Incident {
  const { kind = incident.kind, after_ms = incident.after_ms, change = incident.change } = grown;
  const changed = { ...incident, kind, after_ms: rounded(after_ms), change: rounded(change) };
  return { ...changed, sentence: sentenceOf(changed), ...costs(changed, incident.alarm, world, price) };
}

function costs(
  { before_ms, after_ms }: Pick<Incident, 'before_ms' | 'after_ms'>,
  alarm: boolean,
  world: number,
  price: number | null,
): Pick<Incident, 'rank_hours_per_hour' | 'cost_per_day'> {
  const lost = alarm && after_ms > before_ms ? rounded((world * (after_ms - before_ms)) / after_ms) : null;
  return {
    rank_hours_per_hour: lost,
    cost_per_day: price === null || lost === null ? null : rounded(24 * lost * price),
  };
}

/** A rise by this part of what there was already is an incident of its own if it has another reason. */
const OWN_WEIGHT = 0.5;
/** By so many times as much it is one in any case: what came before is not when it began. */
const ANY_WEIGHT = 4;

/** Whether a slow-down on top of another is one of its own. */
export function isAnother(
  { cause, before_ms, after_ms }: Incident,
  before: number,
  after: number,
  why: Explanation,
): boolean {
  const weight = (after - before) / Math.max(1e-9, after_ms - before_ms);
  const other = why.isMoreWork ? 'more-work' : why.cause;
  return weight >= ANY_WEIGHT || (other !== cause && other !== 'unknown' && weight >= OWN_WEIGHT);
}

export const isoOf = (time: number): string | null =>
  Number.isFinite(time) && Math.abs(time) < 8e15 ? new Date(time).toISOString() : null;
const rounded = (value: number): number => Number(value.toPrecision(4));
