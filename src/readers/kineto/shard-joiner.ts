import type { NumericArray } from '../../base/columns.js';
import type { Batch, BatchTable, RawKind } from '../common/trace-rows/batch.js';
import { MAX_TRACKS, SIDE_TABLES, type SideTableSchema } from '../common/trace-rows/schema.js';
import type { Shard, ShardBatch, ShardStrings } from './shard.js';
import { everyNth, type WasmScanner } from './wasm-scanner.js';

/** As in wasm/assembly. At a limit the order of events matters, so shards that reach one are not joined. */
const MAX_STRINGS = 4 << 20;
const MAX_STRING_BYTES = 256 << 20;
const MAX_KINDS = 255;
/** The column of the table of flows that has their kind. */
const FLOW_KIND = 1;
/** The upper half of a time that is missing; the lower one is 0. */
const NO_TIME = -0x80000000;

/** What ids of another scanner are called here. */
class Names {
  strings = new Uint32Array(1024);
  /** String 0 is none everywhere. */
  stringCount = 1;
  readonly tracks: number[] = [];
  readonly kinds: number[] = [];

  addString(id: number): void {
    if (this.stringCount === this.strings.length) {
      const longer = new Uint32Array(2 * this.stringCount);
      longer.set(this.strings);
      this.strings = longer;
    }
    this.strings[this.stringCount++] = id;
  }
}

/**
 * Takes the events of shards over as if this scanner had read them. Ids are given in the order in which a single scanner would:
 * shards come in the order of the file, and so do the new strings, kinds and tracks in each of them.
 */
export class ShardJoiner {
  readonly #scanner: WasmScanner;
  /** By scanner. */
  readonly #names = new Map<number, Names>();

  constructor(scanner: WasmScanner) {
    this.#scanner = scanner;
  }

  /** `by`: the scanner that read it. `offset`: where the shard starts in the file. The scanner's batch must be empty. */
  join(shard: Shard, by: number, offset: number, onBatch: (batch: Batch) => void): boolean {
    const x = this.#scanner.exports;
    const base = x.timeBase();
    if (base === 0n || !this.#hasRoom(shard)) return false;
    const names = shard.isFirst ? new Names() : this.#names.get(by)!;
    this.#names.set(by, names);
    this.#addStrings(shard.newStrings, names, offset);
    addTracks(x, shard.newTracks, names);
    addKinds(x, shard.kinds, names);
    shard.counters.forEach(({ count, first }, i) => {
      if (count > 0) x.addCount(i, count, first + offset);
    });
    const firstRow = x.rowBase.value;
    for (const batch of shard.batches) {
      for (const schema of SIDE_TABLES) renameTable(batch.side[schema.name], schema, names, firstRow);
      const lastTime = timeOfLast(batch);
      const joined = this.#renamed(batch, names, base, offset);
      pass(x, joined, lastTime, shard.isAfterEvent);
      if (joined.rows > 0 || joined.side.flows.rows > 0) onBatch(joined);
    }
    return true;
  }

  #hasRoom({ newStrings, newTracks, kinds }: Shard): boolean {
    const x = this.#scanner.exports;
    return (
      x.stringCount() + newStrings.lengths.length < MAX_STRINGS &&
      x.stringBytes() + newStrings.bytes.length < MAX_STRING_BYTES &&
      x.tracksUsed() + newTracks.length / 2 < MAX_TRACKS &&
      x.kindsUsed() + kinds.length < MAX_KINDS
    );
  }

  #addStrings({ bytes, lengths, offsets }: ShardStrings, names: Names, offset: number): void {
    const { addString } = this.#scanner.exports;
    let at = this.#scanner.copyIn(bytes);
    for (let i = 0; i < lengths.length; i++) {
      names.addString(addString(at, lengths[i]!, offsets[i]! + offset));
      at += lengths[i]!;
    }
  }

  #renamed(batch: ShardBatch, { strings, tracks, kinds }: Names, base: bigint, offset: number): Batch {
    const x = this.#scanner.exports;
    rename(batch.name, strings);
    rename(batch.track, tracks);
    rename(batch.kind, kinds);
    return {
      ...batch,
      ts: timesFrom(batch.times, base),
      offsets: everyNth(batch.offsets, x.rowBase.value).map((at) => at + offset),
      strings: x.stringCount(),
      tracks: x.tracksUsed(),
    };
  }
}

type Exports = WasmScanner['exports'];

function addTracks(x: Exports, tokens: Uint32Array, { strings, tracks }: Names): void {
  for (let i = 0; i < tokens.length; i += 2)
    tracks.push(x.trackOf(strings[tokens[i]!]!, strings[tokens[i + 1]!]!));
}

function addKinds(x: Exports, all: readonly RawKind[], { strings, kinds }: Names): void {
  all.forEach(({ phase, category, events, folded }, i) => {
    kinds[i] ??= x.kindOf(phase.charCodeAt(0), strings[category]!);
    x.addToKind(kinds[i], events, folded);
  });
}

/** Lets the scanner go on after the rows of a batch. */
function pass(x: Exports, { rows, track, correlation }: Batch, lastTime: bigint, isAfter: boolean): void {
  if (rows > 0) x.passShard(rows, lastTime, track[rows - 1]!, correlation[rows - 1]!, Number(isAfter));
}

const timeOfLast = ({ rows, times }: ShardBatch): bigint =>
  rows === 0 ? 0n : new BigInt64Array(times.buffer, times.byteOffset, rows)[rows - 1]!;

function renameTable(table: BatchTable, schema: SideTableSchema, names: Names, firstRow: number): void {
  const { row, columns } = table;
  if (row.length === 0) return;
  for (let i = 0; i < row.length; i++) row[i]! += firstRow;
  Object.values(schema.columns).forEach((type, i) => {
    if (type === 'token') rename(columns[i]!, names.strings);
  });
  if (schema.name === 'flows') rename(columns[FLOW_KIND]!, names.kinds);
}

function rename(ids: NumericArray, names: ArrayLike<number>): void {
  for (let i = 0; i < ids.length; i++) ids[i] = names[ids[i]!]!;
}

/** Nanoseconds from the base, rounded once where they are beyond 2^53: as the scanner does it. Takes the place of `times`. */
function timesFrom(times: Int32Array, base: bigint): Float64Array {
  const upper = Number(base >> 32n);
  const lower = Number(base & 0xffffffffn);
  const out = new Float64Array(times.buffer, times.byteOffset, times.length / 2);
  for (let i = 0; i < out.length; i++) {
    const [low, high] = [times[2 * i]!, times[2 * i + 1]!];
    out[i] = high === NO_TIME && low === 0 ? Number.NaN : (high - upper) * 2 ** 32 + ((low >>> 0) - lower);
  }
  return out;
}
