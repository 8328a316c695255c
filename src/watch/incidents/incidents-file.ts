import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openPlainFile } from '../../launch/small-file.js';
import { INCIDENT_CAUSES, INCIDENT_KINDS, type Incident } from './incident.js';

const NAME = 'incidents.jsonl';
/** A run has a few dozen. Of a larger file the end counts. */
const MOST_BYTES = 4 << 20;

/** OUT/incidents.jsonl: one line for each version of an incident. */
export class IncidentsFile {
  readonly path: string;
  /** Lines that are in the file already: whoever watches a job again finds the same incidents. */
  readonly #written = new Set<string>();
  #queue: Promise<void> = Promise.resolve();
  #problem: string | null = null;

  constructor(out: string) {
    this.path = join(out, NAME);
  }

  /** Why the last write failed; null: it did not. */
  get problem(): string | null {
    return this.#problem;
  }

  async load(): Promise<readonly Incident[]> {
    const lines = await linesOf(this.path);
    for (const line of lines) this.#written.add(line);
    return latestOf(lines);
  }

  /** Never fails: a full disk or a folder that is gone must not end the watching. What was not written is tried again. */
  write(incidents: readonly Incident[]): Promise<void> {
    this.#queue = this.#queue.then(async () => {
      const fresh = incidents.map((i) => JSON.stringify(i)).filter((line) => !this.#written.has(line));
      if (fresh.length === 0) return;
      try {
        await appendFile(this.path, fresh.map((line) => `${line}\n`).join(''));
        for (const line of fresh) this.#written.add(line);
        this.#problem = null;
      } catch (error) {
        this.#problem = (error as NodeJS.ErrnoException).code ?? 'unknown';
      }
    });
    return this.#queue;
  }

  /** Whether this very line is in the file. */
  has(incident: Incident): boolean {
    return this.#written.has(JSON.stringify(incident));
  }
}

/** The incidents of a run, in the order in which they were found. Empty: nobody watched, or nothing happened. */
export const readIncidents = async (out: string): Promise<readonly Incident[]> =>
  latestOf(await linesOf(join(out, NAME)));

async function linesOf(path: string): Promise<readonly string[]> {
  const file = await openPlainFile(path);
  if (!file) return [];
  try {
    const { size } = await file.stat();
    const from = Math.max(0, size - MOST_BYTES);
    const buffer = Buffer.alloc(size - from);
    const { bytesRead } = await file.read(buffer, 0, buffer.length, from);
    return buffer
      .toString('utf8', 0, bytesRead)
      .split('\n')
      .filter((line) => line.startsWith('{'));
  } catch {
    return [];
  } finally {
    await file.close().catch(() => {});
  }
}

function latestOf(lines: readonly string[]): readonly Incident[] {
  const byId = new Map<string, Incident>();
  for (const line of lines) {
    const incident = incidentIn(line);
    if (incident) byId.set(incident.id, incident);
  }
  return [...byId.values()];
}

const STATES = ['open', 'ended', 'restarted'];
/** Anybody may have written the file. */
const MOST_TEXT = 2000;

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
  const isNumber = (v: unknown) => typeof v === 'number' && Number.isFinite(v);
  const isNumberOrNull = (v: unknown) => v === null || isNumber(v);
  const isGood =
    isText(value.id) &&
    isText(value.sentence) &&
    INCIDENT_KINDS.includes(value.kind!) &&
    INCIDENT_CAUSES.includes(value.cause!) &&
    STATES.includes(value.state!) &&
    typeof value.alarm === 'boolean' &&
    [value.step, value.detected_step, value.before_ms, value.after_ms, value.change].every(isNumber) &&
    [value.until_step, value.rank_hours_per_hour].every(isNumberOrNull) &&
    [value.run, value.time, value.detected_time, value.until_time, value.fix].every(isTextOrNull) &&
    Array.isArray(value.ranks) &&
    value.ranks.every((r) => Number.isSafeInteger(r)) &&
    Array.isArray(value.evidence) &&
    value.evidence.every(isText);
  return isGood ? (value as Incident) : null;
}
