import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { openPlainFile } from '../../launch/small-file.js';
import type { Incident } from '../../model/incident.js';
import { latestOf } from '../../readers/incidents/incident-line.js';

const NAME = 'incidents.jsonl';
/** A run has a few dozen. Of a larger file the end counts. */
const MOST_BYTES = 4 << 20;

/** OUT/incidents.jsonl: one line for each version of an incident. */
export class IncidentsFile {
  readonly path: string;
  /** Lines that are in the file already: whoever watches a job again finds the same incidents. */
  readonly #written = new Set<string>();
  /** The last versions that were there before. */
  readonly #earlier = new Map<string, Incident>();
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
    const latest = latestOf(lines);
    for (const incident of latest) this.#earlier.set(keyOf(incident), incident);
    return latest;
  }

  /** Never fails: a full disk or a folder that is gone must not end the watching. What was not written is tried again. */
  write(incidents: readonly Incident[]): Promise<void> {
    this.#queue = this.#queue.then(async () => {
      const fresh = incidents.filter((i) => !this.has(i)).map((i) => JSON.stringify(i));
      if (fresh.length === 0) return;
      try {
        // What failed may have written half a line.
        const begin = this.#problem === null ? '' : '\n';
        await append(this.path, begin + fresh.map((line) => `${line}\n`).join(''));
        for (const line of fresh) this.#written.add(line);
        this.#problem = null;
      } catch (error) {
        this.#problem = (error as NodeJS.ErrnoException).code ?? 'unknown';
      }
    });
    return this.#queue;
  }

  /** Whether it is in the file, or was found before: by then, telemetry may have shown more, or less, of the cause. */
  has(incident: Incident): boolean {
    if (this.#written.has(JSON.stringify(incident))) return true;
    const earlier = this.#earlier.get(keyOf(incident));
    if (!earlier) return false;
    const isSame = earlier.state === incident.state && earlier.kind === incident.kind;
    const isOlder = earlier.state !== 'open' && incident.state === 'open';
    return isOlder || (isSame && incident.after_ms <= SAME * earlier.after_ms);
  }
}

/** It has grown since if it takes longer than this many times. */
const SAME = 1.02;
const keyOf = ({ run, id }: Incident) => `${run} ${id}`;

const FLAGS = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | (constants.O_NOFOLLOW ?? 0);

/** Never through a link: others may write to OUT. */
async function append(path: string, text: string): Promise<void> {
  const file = await open(path, FLAGS, 0o644);
  try {
    await file.writeFile(text);
  } finally {
    await file.close();
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
