import { asciiJson, numberOf, wordOf } from './event-text.js';

/** Far above ids of threads and streams, and below 2^32. */
const FIRST_ID = 1_000_000_000;
const ID_RANGE = 2 ** 32;

/**
 * Perfetto takes ids of 32 bits. Old traces have negative ones (the lower half of a pthread's address): it puts their events on
 * the main thread, and drops those that overlap its own. An id that is a text stays.
 */
const isTaken = (tid: unknown) => {
  const id = numberOf(tid);
  return Number.isNaN(id) || (id >= 0 && id < ID_RANGE);
};

/** Ids for tracks that need another one: lanes next to a track, and threads whose id Perfetto does not take. */
export class TrackIds {
  readonly #ids = new Map<string, number>();

  /** Null: the track keeps its id. `lane` 0: the track itself. `named` takes the metadata of a new one when it is first used. */
  idOf(pid: unknown, tid: unknown, lane: number, named: (event: string) => void): number | null {
    if (lane === 0 && isTaken(tid)) return null;
    const key = `${wordOf(pid)} ${wordOf(tid)} ${lane}`;
    const known = this.#ids.get(key);
    if (known !== undefined) return known;
    const id = FIRST_ID + this.#ids.size;
    this.#ids.set(key, id);
    // A name that the file has for the track itself comes later and replaces this one.
    const name = lane === 0 ? wordOf(tid) : `${wordOf(tid)} (${lane + 1})`;
    named(asciiJson({ ph: 'M', name: 'thread_name', pid, tid: id, ts: 0, args: { name } }));
    return id;
  }
}
