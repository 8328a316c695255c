import { INCIDENT_CAUSES, INCIDENT_KINDS, INCIDENT_STATES, type Incident } from '../../model/incident.js';

/** The last version of each incident, in the order in which they were found. */
export function latestOf(lines: readonly string[]): readonly Incident[] {
  const byId = new Map<string, Incident>();
  for (const line of lines) {
    const incident = incidentIn(line);
    if (incident) byId.set(`${incident.run} ${incident.id}`, incident);
  }
  return [...byId.values()];
}

/** Anybody may have written the file. */
const MOST_TEXT = 2000;
const MOST_ENTRIES = 64;
/** No step lasts 30 years. */
const LONGEST_MS = 1e12;

/** Null: the line is not an incident as whyslow writes it. */
export function incidentIn(line: string): Incident | null {
  let value: Partial<Incident> | null;
  try {
    value = JSON.parse(line);
  } catch {
    return null;
  }
  if (typeof value !== 'object' || value === null || value.schema !== 'whyslow/incident/1') return null;
  const isText = (v: unknown) => typeof v === 'string' && v.length <= MOST_TEXT;
  const isTextOrNull = (v: unknown) => v === null || isText(v);
  const isTexts = (v: unknown) => Array.isArray(v) && v.length <= MOST_ENTRIES && v.every(isText);
  const isNumber = (v: unknown) => typeof v === 'number' && Number.isFinite(v);
  const isNumberOrNull = (v: unknown) => v === null || isNumber(v);
  const isGood =
    isText(value.id) &&
    isText(value.sentence) &&
    INCIDENT_KINDS.includes(value.kind!) &&
    INCIDENT_CAUSES.includes(value.cause!) &&
    INCIDENT_STATES.includes(value.state!) &&
    typeof value.alarm === 'boolean' &&
    [value.step, value.detected_step, value.until_step ?? 0].every(Number.isSafeInteger) &&
    value.until_step !== undefined &&
    isNumber(value.change) &&
    [value.before_ms, value.after_ms].every((t) => isNumber(t) && t! >= 0 && t! <= LONGEST_MS) &&
    [value.rank_hours_per_hour, value.cost_per_day ?? null].every(isNumberOrNull) &&
    [value.run, value.time, value.detected_time, value.until_time, value.fix].every(isTextOrNull) &&
    Array.isArray(value.ranks) &&
    value.ranks.every((r) => Number.isSafeInteger(r) && r >= 0) &&
    isTexts(value.evidence) &&
    (value.traces === undefined || isTexts(value.traces));
  return isGood ? knownFields(value as Incident) : null;
}

/** Reports have exactly these fields, whatever version wrote the file. */
function knownFields(incident: Incident): Incident {
  const { schema, id, run, kind, state, alarm, step, time, detected_step, detected_time } = incident;
  const { until_step, until_time, before_ms, after_ms, change, ranks, cause, sentence, evidence } = incident;
  const { fix, rank_hours_per_hour, cost_per_day = null, traces = [] } = incident;
  const began = { schema, id, run, kind, state, alarm, step, time, detected_step, detected_time };
  const what = { until_step, until_time, before_ms, after_ms, change, ranks, cause, sentence, evidence };
  return { ...began, ...what, fix, rank_hours_per_hour, cost_per_day, traces };
}
