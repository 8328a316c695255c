import { z } from 'zod';
import { INCIDENT_CAUSES, INCIDENT_KINDS, INCIDENT_STATES } from '../src/model/incident.js';
import { nameTypes } from './schema-text.js';

const cause = z.enum(INCIDENT_CAUSES);

/** A line of OUT/incidents.jsonl, as reports have it too. */
export const incident = z.strictObject({
  schema: z.literal('whyslow/incident/1'),
  id: z.string().describe('within its run; a later line with the same id and run replaces an earlier one'),
  run: z.string().nullable(),
  kind: z
    .enum(INCIDENT_KINDS)
    .describe(
      'slower, growing (ever slower), pauses, behind (one rank, not yet the job), leak (memory grows), more-work and faster (no alarms)',
    ),
  state: z.enum(INCIDENT_STATES).describe('ended: the pace is back; restarted: the job began anew meanwhile'),
  alarm: z.boolean().describe('it costs time, or will'),
  step: z.int().describe('the first step that shows it'),
  time: z.string().nullable().describe('ISO 8601, UTC; null: the log has no times'),
  detected_step: z.int().describe('when there was enough evidence'),
  detected_time: z.string().nullable(),
  until_step: z.int().nullable(),
  until_time: z.string().nullable(),
  before_ms: z.number().min(0).describe('step time of the job before'),
  after_ms: z.number().min(0).describe('step time since'),
  change: z.number().describe('0.12: a step takes 12% longer; of a leak: memory grew by this share'),
  ranks: z.array(z.int().min(0)).describe('the ranks that changed; empty: all, or no one in particular'),
  cause,
  sentence: z.string(),
  evidence: z.array(z.string()).describe('what shows the cause'),
  fix: z.string().nullable().describe('what to do'),
  rank_hours_per_hour: z
    .number()
    .nullable()
    .describe('time that is lost per hour, summed over ranks (on GPUs: GPU-hours); null: none'),
  cost_per_day: z
    .number()
    .nullable()
    .describe('what that costs, in the currency of --price; null without a price'),
  traces: z.array(z.string()).describe('profiler windows that were recorded because of it, relative to OUT'),
});

nameTypes({ Incident: incident, IncidentCause: cause }, 'model/incident');
