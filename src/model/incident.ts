/** What a lasting change is. */
export const INCIDENT_KINDS = [
  'slower',
  'growing',
  'pauses',
  'behind',
  'leak',
  'more-work',
  'faster',
] as const;
export type IncidentKind = (typeof INCIDENT_KINDS)[number];

/** What the change was traced to. */
export const INCIDENT_CAUSES = [
  'loader',
  'copies',
  'network',
  'host',
  'compute',
  'garbage-collection',
  'memory',
  'checkpoint',
  'evaluation',
  'logging',
  'compile',
  'gpu-clock',
  'neighbor',
  'threads',
  'more-work',
  'late-rank',
  'unknown',
] as const;
export type IncidentCause = (typeof INCIDENT_CAUSES)[number];

/** `open` until the pace is what it was before. `restarted`: the job began anew meanwhile. */
export const INCIDENT_STATES = ['open', 'ended', 'restarted'] as const;

/**
 * A lasting change in the pace of a run: one line of OUT/incidents.jsonl. A line with the id and run of an earlier one replaces
 * it: an incident ends, grows, or its cause becomes known. Times in ms.
 */
export interface Incident {
  readonly schema: 'whyslow/incident/1';
  readonly id: string;
  readonly run: string | null;
  readonly kind: IncidentKind;
  readonly state: (typeof INCIDENT_STATES)[number];
  /** It costs time. Speed-ups and more work per step do not count as alarms. */
  readonly alarm: boolean;
  /** The first step that shows it, and when that was. Null: the log has no times. */
  readonly step: number;
  readonly time: string | null;
  /** The step at which there was enough evidence. */
  readonly detected_step: number;
  readonly detected_time: string | null;
  readonly until_step: number | null;
  readonly until_time: string | null;
  /** The step of the job before and since. */
  readonly before_ms: number;
  readonly after_ms: number;
  /** 0.12: a step takes 12% longer. Of a leak: memory grew by this share. */
  readonly change: number;
  /** The ranks that changed. Empty: all of them. */
  readonly ranks: readonly number[];
  readonly cause: IncidentCause;
  readonly sentence: string;
  /** What shows the cause. */
  readonly evidence: readonly string[];
  readonly fix: string | null;
  /** Time of the job that is lost since, per hour; over all its ranks. Null: nothing is lost. */
  readonly rank_hours_per_hour: number | null;
  /** In the currency of `--price`. Null: no price was given, or nothing is lost. */
  readonly cost_per_day: number | null;
  /** Profiler windows that were recorded because of it, relative to OUT. */
  readonly traces: readonly string[];
}
