import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { JobWatch } from '../job/job-watch.js';
import { FollowedFile } from './follow-file.js';

const EVENTS = 'cuda_event_profiler';
/** A second process with the same rank writes to a file with a suffix. It is not followed. */
const NAME = /^cuda_events_rank_(\d{1,6})\.jsonl$/;

/** All ranks of a job whose folder is followed, also over a network file system that comes and goes. */
export class FollowedRun {
  readonly #folder: string;
  readonly #job: JobWatch;
  readonly #files = new Map<string, FollowedFile>();

  constructor(out: string, job: JobWatch) {
    this.#folder = join(out, EVENTS);
    this.#job = job;
  }

  get files(): number {
    return this.#files.size;
  }

  /** Reads what is new, at most until `isEnough`. True: there may be more. */
  async read(isEnough: () => boolean = () => false): Promise<boolean> {
    await this.#find();
    const open = new Set(this.#files.values());
    for (const file of open) file.isAtEnd = false;
    while (open.size > 0) {
      if (isEnough()) return true;
      const next = furthestBehind(open);
      await next.read();
      if (next.isAtEnd) open.delete(next);
    }
    return false;
  }

  /** The job has ended: nothing more comes. */
  finish(): void {
    for (const { steps } of this.#files.values()) steps.flush();
    this.#job.flush();
  }

  async #find(): Promise<void> {
    const names = await readdir(this.#folder).catch(() => []);
    for (const name of names) {
      const rank = NAME.exec(name)?.[1];
      if (rank === undefined || this.#files.has(name)) continue;
      this.#files.set(name, new FollowedFile(join(this.#folder, name), Number(rank), this.#job));
      this.#job.join(Number(rank));
    }
  }
}

/** Steps of different ranks are compared, so no file is read far ahead of the others. */
function furthestBehind(files: ReadonlySet<FollowedFile>): FollowedFile {
  let least: FollowedFile | null = null;
  for (const file of files) {
    if (!least) least = file;
    const [a, b] = [file.steps.position, least.steps.position];
    if (a.start < b.start || (a.start === b.start && a.step < b.step)) least = file;
  }
  return least!;
}
