import type { RawEvent } from '../readers/kineto/raw-events.js';
import type { ChromeFile } from './chrome-file.js';
import type { RankArrows } from './collective-arrows.js';
import {
  asciiJson,
  durationNs,
  microseconds,
  numberOf,
  placesOf,
  utf8Json,
  withValues,
  wordOf,
} from './event-text.js';
import { type Overlaps, sliceKey, TrackIds } from './overlaps.js';

/** One rank in a merged trace. */
export interface MergedRank {
  readonly rank: number;
  readonly host: string | null;
  readonly overlaps: Overlaps;
  readonly arrows: RankArrows;
  /** From ns of its trace to ns of the merged one. Keeps the order of times. */
  readonly onRun: (time: number) => number;
}

/** Numbers that no two ranks share. */
export class MergedIds {
  #pids = 0;
  #ranks = 0;

  nextPid(): number {
    return ++this.#pids;
  }

  nextRank(): number {
    return this.#ranks++;
  }
}

/** Ids of flows and async events have 32 bits in a trace. */
const ID_RANGE = 2 ** 32;
/** Replaced by names with the rank in them. */
const REPLACED = ['process_name', 'process_sort_index', 'process_labels'];

interface Process {
  readonly pid: number;
  name: string | null;
  labels: string | null;
  sortIndex: number;
  isUsed: boolean;
  /** Names of threads and the like. They are written when the process has other events. */
  readonly metadata: string[];
}

/** Writes the events of one rank with times, processes and ids of the run. */
export class RankWriter {
  readonly #rank: MergedRank;
  readonly #file: ChromeFile;
  readonly #ids: MergedIds;
  readonly #number: number;
  readonly #tracks = new TrackIds();
  /** By pid of the rank's trace. */
  readonly #processes = new Map<string, Process>();

  constructor(rank: MergedRank, file: ChromeFile, ids: MergedIds) {
    this.#rank = rank;
    this.#file = file;
    this.#ids = ids;
    this.#number = ids.nextRank();
  }

  add({ text, value }: RawEvent, start: number): void {
    const process = this.#process(value.pid);
    if (value.ph === 'M') return this.#addMetadata(text, value, process);
    // Without a time or a track no viewer can show it.
    if (!Number.isSafeInteger(this.#rank.onRun(start)) || value.pid === undefined) return;
    process.isUsed = true;
    if (value.ph === 'X') return this.#addSlice(text, value, start, process);
    this.#file.add(
      withValues(text, placesOf(text), {
        pid: String(process.pid),
        tid: this.#otherTid(process.pid, value.tid),
        ts: microseconds(this.#rank.onRun(start)),
        id: value.id === undefined ? null : this.#idOf(value.id),
      }),
    );
  }

  /** Names the processes that have events. */
  finish(): void {
    const { rank, host } = this.#rank;
    for (const [pid, p] of this.#processes) {
      if (!p.isUsed) continue;
      for (const event of p.metadata) this.#file.add(event);
      const name = [`rank ${rank}`, host, p.labels ?? p.name ?? pid].filter(Boolean).join(' · ');
      const meta = { ph: 'M', pid: p.pid, tid: 0, ts: 0 };
      this.#file.add(utf8Json({ ...meta, name: 'process_name', args: { name } }));
      // Ranks one below the other, and the processes of a rank in their own order.
      const order = this.#number * 1000 + this.#orderOf(p);
      this.#file.add(asciiJson({ ...meta, name: 'process_sort_index', args: { sort_index: order } }));
    }
  }

  #addSlice(text: string, value: RawEvent['value'], start: number, { pid }: Process): void {
    const { onRun, overlaps, arrows } = this.#rank;
    const duration = durationNs(value.dur);
    const fixed = overlaps.fixed.get(sliceKey(value.pid, value.tid, start, duration));
    const otherTid = this.#otherTid(pid, value.tid, fixed?.lane);
    const from = onRun(start);
    // Both ends are moved, so that what was nested stays nested.
    const to = onRun(start + (fixed?.duration ?? duration));
    this.#file.add(
      withValues(text, placesOf(text), {
        pid: String(pid),
        tid: otherTid,
        ts: microseconds(from),
        dur: microseconds(to - from),
      }),
    );
    const arrow = arrows(value, start, start + duration);
    if (!arrow) return;
    const { id, phase: ph, name } = arrow;
    const at = Math.min(to, Math.max(from, onRun(arrow.at)));
    const bp = ph === 's' ? {} : { bp: 'e' };
    const track = { pid, tid: otherTid === null ? value.tid : Number(otherTid) };
    this.#file.add(
      asciiJson({ ph, cat: 'collective', name, id, ...track, ts: Number(microseconds(at)), ...bp }),
    );
  }

  #addMetadata(text: string, value: RawEvent['value'], process: Process): void {
    const args = value.args as { name?: unknown; labels?: unknown; sort_index?: unknown } | null | undefined;
    const name = wordOf(value.name);
    if (name === 'process_name') process.name = textOf(args?.name);
    else if (name === 'process_labels') process.labels = textOf(args?.labels);
    else if (name === 'process_sort_index') process.sortIndex = numberOf(args?.sort_index) || 0;
    if (!REPLACED.includes(name))
      process.metadata.push(
        withValues(text, placesOf(text), {
          pid: String(process.pid),
          tid: this.#otherTid(process.pid, value.tid),
          ts: '0',
        }),
      );
  }

  /** Null: the track keeps its id. */
  #otherTid(pid: number, tid: unknown, lane = 0): string | null {
    const id = this.#tracks.idOf(pid, tid, lane, (event) => this.#file.add(event));
    return id === null ? null : String(id);
  }

  #process(pid: unknown): Process {
    const key = wordOf(pid);
    const known = this.#processes.get(key);
    if (known) return known;
    const pidOfRun = this.#ids.nextPid();
    const made: Process = {
      pid: pidOfRun,
      name: null,
      labels: null,
      sortIndex: 0,
      isUsed: false,
      metadata: [],
    };
    this.#processes.set(key, made);
    return made;
  }

  #orderOf(process: Process): number {
    const inOrder = [...this.#processes.values()].sort((a, b) => a.sortIndex - b.sortIndex);
    return Math.min(999, inOrder.indexOf(process));
  }

  #idOf(id: unknown): string {
    const isSmall = typeof id === 'number' && Number.isInteger(id) && id >= 0 && id < ID_RANGE;
    return isSmall ? String(this.#number * ID_RANGE + id) : asciiJson(`${this.#number}:${wordOf(id)}`);
  }
}

/** Raw events have a character for each byte. */
const textOf = (value: unknown): string | null =>
  typeof value === 'string' ? Buffer.from(value, 'latin1').toString('utf8') : null;
