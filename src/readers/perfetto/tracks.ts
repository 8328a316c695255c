import type { EventRow } from '../common/trace-rows/event-row.js';
import { SIDE_TABLES } from '../common/trace-rows/schema.js';
import type { PerfettoFaults } from './faults.js';
import { PROCESS, THREAD, TRACK } from './fields.js';
import type { Tokens } from './tokens.js';
import { MessageReader } from './wire.js';

/** A thread of the host, or the profiler's own work. */
export interface Track {
  /** Ids of strings. */
  readonly pid: number;
  readonly tid: number;
  readonly isOverhead: boolean;
}

/** PyTorch keeps the lower 31 bits of process ids, and gives the profiler's own work the process -1. */
const OVERHEAD = 0x7fffffff;
const MAX_NAME = 4096;

/** Tracks by their uuid. Their names become rows as in Chrome traces. */
export class TrackTable {
  readonly #byUuid = new Map<number, Track>();
  readonly #descriptor = new MessageReader();
  readonly #inner = new MessageReader();
  readonly #row: EventRow;
  readonly #tokens: Tokens;
  readonly #faults: PerfettoFaults;

  constructor(row: EventRow, tokens: Tokens, faults: PerfettoFaults) {
    this.#row = row;
    this.#tokens = tokens;
    this.#faults = faults;
  }

  /** Takes a TrackDescriptor. False: it is broken. */
  add(buffer: Uint8Array, from: number, to: number): boolean {
    const fields = this.#descriptor.open(buffer, from, to);
    let uuid = Number.NaN;
    let [processFrom, processTo, threadFrom, threadTo] = [-1, -1, -1, -1];
    while (fields.next()) {
      if (fields.key === TRACK.uuid) uuid = fields.unsigned;
      else if (fields.key === TRACK.process) [processFrom, processTo] = [fields.from, fields.to];
      else if (fields.key === TRACK.thread) [threadFrom, threadTo] = [fields.from, fields.to];
    }
    if (fields.isBroken || Number.isNaN(uuid)) return false;
    if (threadFrom >= 0) return this.#thread(uuid, buffer, threadFrom, threadTo);
    return processFrom < 0 || this.#process(uuid, buffer, processFrom, processTo);
  }

  /** `at`: of the event, for a track that the file does not describe. */
  of(uuid: number, at: number): Track {
    const known = this.#byUuid.get(uuid);
    if (known) return known;
    this.#faults.add('missing-tracks', at);
    const track = {
      pid: this.#tokens.ofText('unknown'),
      tid: this.#tokens.ofNumber(uuid),
      isOverhead: false,
    };
    this.#byUuid.set(uuid, track);
    return track;
  }

  #process(uuid: number, buffer: Uint8Array, from: number, to: number): boolean {
    const fields = this.#inner.open(buffer, from, to);
    let pid = 0;
    let name = '';
    while (fields.next()) {
      if (fields.key === PROCESS.pid) pid = fields.signed;
      else if (fields.key === PROCESS.name) name = this.#text(fields);
    }
    if (fields.isBroken) return false;
    const token = this.#tokens.ofNumber(pid === OVERHEAD ? -1 : pid);
    const tid = this.#tokens.ofNumber(0);
    const isOverhead = pid === OVERHEAD || name === 'Overhead';
    this.#byUuid.set(uuid, { pid: token, tid, isOverhead });
    this.#nameRow('process_name', token, tid, name);
    return true;
  }

  #thread(uuid: number, buffer: Uint8Array, from: number, to: number): boolean {
    const fields = this.#inner.open(buffer, from, to);
    let [pid, tid] = [0, 0];
    let name = '';
    while (fields.next()) {
      if (fields.key === THREAD.pid) pid = fields.signed;
      else if (fields.key === THREAD.tid) tid = fields.signed;
      else if (fields.key === THREAD.name) name = this.#text(fields);
    }
    if (fields.isBroken) return false;
    const track = {
      pid: this.#tokens.ofNumber(pid === OVERHEAD ? -1 : pid),
      tid: this.#tokens.ofNumber(tid),
      isOverhead: pid === OVERHEAD || name === 'Overhead',
    };
    this.#byUuid.set(uuid, track);
    this.#nameRow('thread_name', track.pid, track.tid, name);
    return true;
  }

  #text({ buffer, from, to }: MessageReader): string {
    return Buffer.from(buffer.subarray(from, Math.min(to, from + MAX_NAME))).toString('utf8');
  }

  #nameRow(what: string, pid: number, tid: number, name: string): void {
    const row = this.#row;
    row.begin();
    row.phase = PHASE_M;
    row.name = this.#tokens.ofText(what);
    row.pid = pid;
    row.tid = tid;
    row.side.set(METADATA, 0, this.#tokens.ofText(name));
    row.finish();
  }
}
const PHASE_M = 'M'.charCodeAt(0);
const METADATA = SIDE_TABLES.findIndex((t) => t.name === 'metadata');
