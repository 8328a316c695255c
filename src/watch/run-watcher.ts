import { access } from 'node:fs/promises';
import { largest } from '../base/statistics.js';
import { mayBeAlive, readRanks } from '../launch/job.js';
import type { Incident } from '../model/incident.js';
import { FollowedRun } from './follow/follow-run.js';
import { FollowedTelemetry } from './follow/follow-telemetry.js';
import { IncidentsFile } from './incidents/incidents-file.js';
import { FALSE_ALARM, JobWatch } from './job/job-watch.js';
import { Machines } from './machine/machines.js';
import type { WatchedRun } from './watched-run.js';

/** What one look may take before it is the turn of others, ms. Then it goes on with the next look. */
const MOST_PER_LOOK = 200;

/** Ranks rewrite their file every 20 s at most. */
const QUIET_MS = 40_000;

export interface WatcherOptions {
  /** Of a GPU for an hour: incidents have their cost per day then. */
  readonly price?: number | undefined;
  /** Called once for each incident that was not in the file before, and when its line changes. */
  readonly onIncident?: (incident: Incident) => void;
}

/** Watches the folder of a job: call `look` again and again. Nothing in it fails because of the folder. */
export class RunWatcher {
  readonly #out: string;
  readonly #run: FollowedRun;
  readonly #telemetry: FollowedTelemetry;
  readonly #job: JobWatch;
  readonly #file: IncidentsFile;
  readonly #fresh: Incident[] = [];
  readonly #onIncident: (incident: Incident) => void;
  #isThere = true;
  /** When a rank wrote its file last, and when that was seen, by a clock that never jumps. */
  #written = { file: Number.NaN, seen: Number.NEGATIVE_INFINITY };

  private constructor(out: string, file: IncidentsFile, { onIncident = () => {}, price }: WatcherOptions) {
    this.#out = out;
    this.#file = file;
    this.#onIncident = onIncident;
    const machines = new Machines();
    this.#telemetry = new FollowedTelemetry(out, machines);
    this.#job = new JobWatch(
      (incident) => {
        if (!this.#file.has(incident)) this.#fresh.push(incident);
      },
      FALSE_ALARM,
      machines,
    );
    this.#job.price = price ?? null;
    this.#run = new FollowedRun(out, this.#job);
  }

  static async open(out: string, options: WatcherOptions = {}): Promise<RunWatcher> {
    const file = new IncidentsFile(out);
    await file.load();
    return new RunWatcher(out, file, options);
  }

  /** Reads what is new. True: there is more to read already. */
  async look(most = MOST_PER_LOOK): Promise<boolean> {
    const started = performance.now();
    const isThere = await access(this.#out).then(
      () => true,
      () => false,
    );
    this.#isThere = isThere;
    const isEnough = () => performance.now() - started > most;
    // Telemetry first: a change in the steps is explained with it.
    const more = isThere && ((await this.#telemetry.read(isEnough)) || (await this.#run.read(isEnough)));
    if (!more) this.#job.lookAtMemory();
    await this.#tell();
    return more;
  }

  /** Nothing more comes: what waited for other ranks is judged. */
  async finish(): Promise<void> {
    while (await this.look(Number.POSITIVE_INFINITY));
    this.#run.finish();
    await this.#tell();
  }

  /** Evidence from elsewhere about an incident. It is written with the next look. */
  amend(id: string, evidence: readonly string[], traces: readonly string[]): void {
    this.#job.amend(id, evidence, traces);
  }

  /** Processes of the job may still write. What they wrote is compared with the last time, as the clock of the machine may jump. */
  async mayBeRunning(): Promise<boolean> {
    const ranks = await readRanks(this.#out);
    const now = performance.now();
    const written = largest(ranks.map((r) => r.writtenMs));
    if (written !== this.#written.file) this.#written = { file: written, seen: now };
    const isQuiet = now - this.#written.seen > QUIET_MS;
    return mayBeAlive(ranks, Date.now()) || (!isQuiet && ranks.some((r) => !r.ended));
  }

  async #tell(): Promise<void> {
    const fresh = this.#fresh.splice(0);
    // Whatever could not be written is written with the next look.
    await this.#file.write(this.#job.incidents);
    for (const incident of fresh) this.#onIncident(incident);
  }

  state(): WatchedRun {
    const { step, time } = this.#job.latest;
    return {
      out: this.#out,
      runId: this.#job.run,
      isThere: this.#isThere,
      writeProblem: this.#file.problem,
      step: Number.isNaN(step) ? null : step,
      time: Number.isNaN(time) ? null : time,
      usualMs: this.#job.isLearning ? null : this.#job.usual,
      falseAlarm: this.#job.falseAlarm,
      job: this.#job.line.points,
      ranks: this.#job.ranks.map(({ rank, line }) => ({ rank, points: line.points })),
      incidents: this.#job.incidents,
    };
  }
}
