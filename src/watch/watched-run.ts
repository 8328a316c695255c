import type { Incident } from '../model/incident.js';
import type { PacePoint } from './steps/pace-line.js';

export type { Incident };

/** What is shown of a run that is watched. */
export interface WatchedRun {
  readonly out: string;
  /** Null: the log names none. */
  readonly runId: string | null;
  /** The folder can be reached. */
  readonly isThere: boolean;
  /** Why incidents.jsonl could not be written; null: it could. */
  readonly writeProblem: string | null;
  /** The last step that was read, and when it was, ms since 1970. */
  readonly step: number | null;
  readonly time: number | null;
  /** Null: it is still being learned. */
  readonly usualMs: number | null;
  readonly falseAlarm: number;
  /** The whole run, oldest first: of the job, and the own time of each rank. */
  readonly job: readonly PacePoint[];
  readonly ranks: readonly { readonly rank: number; readonly points: readonly PacePoint[] }[];
  readonly incidents: readonly Incident[];
}
