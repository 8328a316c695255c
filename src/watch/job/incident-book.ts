import {
  bytes,
  formatBytes,
  formatDuration,
  formatTime,
  formatWhole,
  ms,
  seconds,
} from '../../base/units.js';
import type { Incident, IncidentKind } from '../../model/incident.js';
import type { LevelChange } from '../detect/level-watch.js';
import type { Growth } from '../machine/memory-growth.js';
import type { Explanation } from './explain-change.js';
import {
  type Grown,
  isAnother,
  isoOf,
  type Moment,
  newIncident,
  type What,
  withLevel,
} from './incident-parts.js';
import type { Paused } from './pause-watch.js';

interface Changed {
  readonly change: LevelChange;
  readonly before: number;
  readonly after: number;
  readonly onset: Moment;
  readonly why: Explanation;
  readonly detected: Moment;
  readonly world: number;
}

interface Behind extends Omit<Changed, 'change' | 'before' | 'after'> {
  readonly rank: number;
  readonly share: number;
  readonly usual: number;
}

/** What is over sooner is no incident: someone compiled something. ms. Grows with the age of the job. */
const LASTS = { least: 10_000, most: 60_000, share: 1 / 30 };
/** What has cost less time is not worth a message: machines are a few percent slower for a while. Grows alike. ms. */
const COSTS = { least: 3000, most: 20_000, share: 1 / 100 };
/** Rises after which a slow-down is one that grows. */
const GROWING = 3;

/** Slow-downs that a later one came on top of. */
const BELOW = 'job below ';
/** A level that is so close to that of before is back. */
const CLOSE = 1.03;
interface Open {
  incident: Incident;
  isPublished: boolean;
  rises: number;
}

/** All incidents of a run: which are open, which belong together. */
export class IncidentBook {
  run: string | null = null;
  readonly #all: Incident[] = [];
  /** `job`, `pauses:NAME`, or `rank:7`. */
  readonly #open = new Map<string, Open>();
  readonly #publish: (incident: Incident) => void;
  #firstTime = Number.NaN;
  /** Of a GPU for an hour. Null: not known. */
  price: number | null = null;

  constructor(publish: (incident: Incident) => void) {
    this.#publish = publish;
  }

  get incidents(): readonly Incident[] {
    return this.#all;
  }

  changed({ change, before, after, onset, why, detected, world }: Changed): void {
    const open = this.#open.get('job');
    const isSlower = open !== undefined && open.incident.kind !== 'faster';
    if (isSlower && change.direction === 'up') {
      // A second reason, of its own weight, is an incident of its own on top of the first.
      if (!isAnother(open.incident, before, after, why)) {
        open.rises++;
        const kind = open.rises >= GROWING && open.incident.alarm ? 'growing' : open.incident.kind;
        this.#update('job', { kind, after_ms: after, change: after / open.incident.before_ms - 1 }, world);
        return;
      }
      this.#open.delete('job');
      this.#open.set(`${BELOW}${open.incident.id}`, open);
    } else if (isSlower && after > CLOSE * open.incident.before_ms) {
      // A partial return: still slower than before, but less so.
      this.#update('job', { after_ms: after, change: after / open.incident.before_ms - 1 }, world);
      return;
    } else if (isSlower) {
      this.#endTop(detected);
      if (this.#open.has('job') || after > open.incident.before_ms / CLOSE) return;
    } else if (open) this.#end('job', 'ended', detected);
    const isUp = change.direction === 'up';
    const kind: IncidentKind = !isUp ? 'faster' : why.isMoreWork ? 'more-work' : 'slower';
    const late = why.ranks.length === 1 ? this.#open.get(`rank:${why.ranks[0]}`) : undefined;
    if (late) this.#open.delete(`rank:${why.ranks[0]}`);
    this.#add('job', late ?? null, {
      kind,
      onset,
      detected,
      before,
      after,
      change: after / before - 1,
      ranks: why.ranks,
      cause: isUp ? (why.isMoreWork ? 'more-work' : why.cause) : 'unknown',
      evidence: why.evidence,
      world,
    });
  }

  /** The pace is what it was before, or closer to that than to the slow one. */
  returned(now: Moment, after: number): void {
    const below = [...this.#open].filter(([key]) => key.startsWith(BELOW)).map(([, open]) => open.incident);
    if (below.length > 0 && after > CLOSE * below[0]!.before_ms) {
      this.#endTop(now);
      return;
    }
    for (const key of [...this.#open.keys()])
      if (key === 'job' || key.startsWith(BELOW)) this.#end(key, 'ended', now);
  }

  /** The last slow-down is over, and the one that it came on top of goes on. */
  #endTop(now: Moment): void {
    this.#end('job', 'ended', now);
    const below = [...this.#open.keys()].findLast((key) => key.startsWith(BELOW));
    if (below === undefined) return;
    this.#open.set('job', this.#open.get(below)!);
    this.#open.delete(below);
  }

  behind({ rank, share, usual, onset, why, detected, world }: Behind): void {
    const job = this.#open.get('job')?.incident;
    // What holds up the whole job was reported as that.
    if (job && (job.ranks.includes(rank) || (job.ranks.length > 0 && job.kind !== 'faster'))) return;
    if (this.#open.has(`rank:${rank}`)) return;
    this.#add(`rank:${rank}`, null, {
      kind: 'behind',
      onset,
      detected,
      before: usual,
      after: usual * (1 + share),
      change: share,
      ranks: [rank],
      cause: why.cause,
      evidence: why.evidence,
      world,
    });
  }

  caughtUp(rank: number, now: Moment): void {
    this.#end(`rank:${rank}`, 'ended', now);
  }

  pauses({ name, cause, usual, cost, every, each }: Paused, onset: Moment, detected: Moment): void {
    const evidence = `a pause of ${formatTime(ms(each))} about every ${formatWhole(every)} steps`;
    this.#add(`pauses:${name}`, null, {
      kind: 'pauses',
      onset,
      detected,
      before: usual,
      after: usual + cost,
      change: cost / usual,
      ranks: [],
      cause,
      evidence: [evidence],
      world: 1,
    });
  }

  /** Once in a run: memory that still grows is no news. */
  leaks(growth: Growth & { readonly host: string }, onset: Moment, detected: Moment, usual: number): void {
    if (this.#open.has('leak')) return;
    const { resident, bytes: grown, perHour, hoursLeft, host } = growth;
    const [size, rate] = [formatBytes(bytes(resident)), formatBytes(bytes(perHour))];
    const left = formatDuration(seconds(3600 * hoursLeft));
    this.#add('leak', null, {
      kind: 'leak',
      onset,
      detected,
      before: usual,
      after: usual,
      change: grown / Math.max(1, resident - grown),
      ranks: [],
      cause: 'memory',
      evidence: [
        `the job’s processes${host === '' ? '' : ` on ${host}`} hold ${size} and grow by ${rate} per hour; at this rate memory is full in ${left}`,
      ],
      world: 0,
    });
  }

  /** What a profiler window shows about it, once it was recorded. */
  amend(id: string, evidence: readonly string[], traces: readonly string[]): void {
    const add = (i: Incident): Incident => ({
      ...i,
      evidence: [...i.evidence, ...evidence],
      traces: [...i.traces, ...traces],
    });
    for (const open of this.#open.values()) if (open.incident.id === id) open.incident = add(open.incident);
    const known = this.#all.find((i) => i.id === id);
    if (known) this.#replace(add(known));
  }

  restarted(now: Moment): void {
    for (const key of [...this.#open.keys()]) this.#end(key, 'restarted', now);
  }

  /** Publishes what has lasted long enough. */
  settle(now: Moment): void {
    if (Number.isNaN(this.#firstTime)) this.#firstTime = now.time;
    for (const open of this.#open.values()) {
      if (open.isPublished) continue;
      const since = now.time - Date.parse(open.incident.time ?? '');
      if (since < this.#atLeast(LASTS, now) || since * lostShare(open.incident) < this.#atLeast(COSTS, now))
        continue;
      open.isPublished = true;
      this.#all.push(open.incident);
      this.#publish(open.incident);
    }
  }

  #atLeast({ least, most, share }: typeof LASTS, now: Moment): number {
    return Math.max(least, Math.min(most, (now.time - this.#firstTime) * share));
  }

  #add(key: string, instead: Open | null, what: What): void {
    const { kind, onset, ranks } = what;
    const rank = ranks.length === 1 ? `-rank-${ranks[0]}` : '';
    const id = instead?.incident.id ?? this.#newId(`${kind}-${onset.step}${rank}`);
    const incident = newIncident(id, this.run, what, this.price);
    this.#open.set(key, { incident, isPublished: instead?.isPublished ?? false, rises: 1 });
    if (instead?.isPublished) this.#replace(incident);
  }

  /** A job that began again has the same steps once more. */
  #newId(base: string): string {
    const taken = new Set(
      [...this.#all, ...[...this.#open.values()].map((o) => o.incident)].map((i) => i.id),
    );
    let id = base;
    for (let n = 2; taken.has(id); n++) id = `${base}-${n}`;
    return id;
  }

  #update(key: string, grown: Grown, world: number): void {
    const open = this.#open.get(key)!;
    open.incident = withLevel(open.incident, grown, world, this.price);
    if (open.isPublished) this.#replace(open.incident);
  }

  #end(key: string, state: 'ended' | 'restarted', now: Moment): void {
    const open = this.#open.get(key);
    if (!open) return;
    this.#open.delete(key);
    if (open.isPublished)
      this.#replace({ ...open.incident, state, until_step: now.step, until_time: isoOf(now.time) });
  }

  #replace(incident: Incident): void {
    const at = this.#all.findIndex((i) => i.id === incident.id);
    if (at >= 0) this.#all[at] = incident;
    else this.#all.push(incident);
    this.#publish(incident);
  }
}

/** Of the time since the beginning, what was lost, or won. Memory is worth a message before it costs anything. */
const lostShare = ({ kind, before_ms, after_ms }: Incident): number =>
  kind === 'leak' ? Number.POSITIVE_INFINITY : Math.abs(after_ms - before_ms) / Math.max(after_ms, before_ms);
