import { ProblemLog } from '../../base/problem.js';
import type { DeviceInfo, TraceHeader } from '../../model/trace-data.js';
import type { ReaderOptions, StreamReader, TraceRead } from '../common/reader.js';
import { TraceBuilder } from '../common/trace-rows/builder.js';
import { noteTables } from '../common/trace-rows/counters.js';
import { EventRow } from '../common/trace-rows/event-row.js';
import { parseHeader } from '../common/trace-rows/header.js';
import { AnnotationReader } from './annotations.js';
import { ArgumentKeys } from './argument-keys.js';
import { TimeStamp } from './clock.js';
import { type CopyTokens, copyTokens, tellCopies } from './copy-directions.js';
import { EventArguments } from './event-arguments.js';
import { newPerfettoFaults } from './faults.js';
import { DEFAULTS, PACKET, STATE_CLEARED } from './fields.js';
import { GpuCounterReader } from './gpu-counters.js';
import { Interned, InternedReader } from './interned.js';
import { PacketStream } from './packet-stream.js';
import { RenderStageReader } from './render-stages.js';
import { SlicePairs } from './slice-pairs.js';
import { Tokens } from './tokens.js';
import { type EventTools, TrackEventReader } from './track-events.js';
import { TrackTable } from './tracks.js';
import { MessageReader } from './wire.js';

/** Writers in one file. PyTorch is one; a phone has about a hundred. */
const MAX_SEQUENCES = 4096;
/** A trace of PyTorch shows what it is in its first events. After so many bytes without one, it is none. */
const FOREIGN_BYTES = 64 << 20;

/** Reads a Perfetto trace packet by packet into the columns of the model. */
export class PerfettoReader implements StreamReader<TraceRead> {
  /** What is not complete is copied. */
  readonly keepsNothing = true;
  readonly #faults = newPerfettoFaults();
  readonly #row = new EventRow();
  readonly #builder: TraceBuilder;
  readonly #stream: PacketStream;
  readonly #packet = new MessageReader();
  readonly #inner = new MessageReader();
  readonly #sequences = new Map<number, Interned>();
  readonly #interned: InternedReader;
  readonly #tools: EventTools;
  readonly #events: TrackEventReader;
  readonly #stages: RenderStageReader;
  readonly #counters: GpuCounterReader;
  readonly #copies: CopyTokens;
  /** Durations above 4 s of rows that the builder does not have yet: row and ns in turn. */
  #late: number[] = [];
  #bytes = 0;

  constructor({ progress }: ReaderOptions) {
    const row = this.#row;
    const tokens = new Tokens(row.strings);
    this.#copies = copyTokens(tokens);
    const keys = new ArgumentKeys();
    const args = new EventArguments(row, tokens);
    this.#builder = new TraceBuilder(progress ?? (() => Number.NaN));
    this.#interned = new InternedReader(tokens, keys);
    this.#tools = {
      row,
      tokens,
      args,
      annotations: new AnnotationReader(keys, args, tokens),
      tracks: new TrackTable(row, tokens, this.#faults),
      pairs: new SlicePairs((at, ns) => this.#setDuration(at, ns)),
      time: new TimeStamp(),
      faults: this.#faults,
    };
    this.#events = new TrackEventReader(this.#tools);
    this.#stages = new RenderStageReader(this.#tools, keys);
    this.#counters = new GpuCounterReader(this.#tools);
    this.#stream = new PacketStream((b, from, to, at) => this.#take(b, from, to, at), this.#faults);
  }

  get isDone(): boolean {
    return this.#stream.isBroken || (this.#bytes > FOREIGN_BYTES && !this.#isTorch);
  }

  push(chunk: Uint8Array): void {
    this.#bytes += chunk.length;
    if (!this.isDone) this.#stream.push(chunk);
  }

  finish(): TraceRead {
    if (!this.isDone) this.#stream.finish();
    if (!this.#isTorch) return this.#foreign();
    const { pairs, args } = this.#tools;
    pairs.finish();
    this.#flush();
    const problems = new ProblemLog();
    if (pairs.unmatched > 0) this.#faults.add('open-slices', null, pairs.unmatched);
    const tables = this.#row.tables();
    noteTables(tables, problems);
    const header = headerOf(this.#gpus(), args.arch, problems);
    const trace = this.#builder.finish(tables, header, this.#isCut, problems);
    const { told, untold } = tellCopies(trace, this.#copies);
    if (told > 0) this.#faults.add('inferred-copies', null, told);
    if (untold > 0) this.#faults.add('untold-copies', null, untold);
    problems.addAll(this.#faults.list());
    // Events cannot be read again from their position.
    return {
      trace: { ...trace, offsets: new Float64Array(0) },
      problems: problems.list(),
    };
  }

  /** Numbers of the GPUs. A file that was cut before their work names at least its stages. */
  #gpus(): ReadonlySet<number> {
    const { gpus } = this.#stages;
    const isNamed = [...this.#sequences.values()].some((s) =>
      [...s.specifications.values()].includes('Kernel'),
    );
    return gpus.size === 0 && isNamed ? new Set([0]) : gpus;
  }

  /** Events without an end: the ends come last. */
  get #isCut(): boolean {
    return this.#stream.isBroken || this.#stream.isCut || this.#tools.pairs.unmatched > 0;
  }

  get #isTorch(): boolean {
    return this.#events.torchEvents + this.#stages.torchEvents > 0;
  }

  /** A trace of Android, Chrome or anything else: one sentence, and no events. */
  #foreign(): TraceRead {
    const faults = newPerfettoFaults();
    faults.add('not-pytorch', null);
    const nothing = new TraceBuilder(() => Number.NaN);
    const problems = new ProblemLog();
    const header = headerOf(new Set(), '', problems);
    return {
      trace: nothing.finish(new EventRow().tables(), header, false, problems),
      problems: faults.list(),
    };
  }

  #take(buffer: Uint8Array, from: number, to: number, at: number): void {
    const packet = this.#packet.open(buffer, from, to);
    const { time, tracks } = this.#tools;
    let sequence = 0;
    let isCleared = false;
    let kind = 0;
    let eventFrom = 0;
    let eventTo = 0;
    let internedFrom = -1;
    let internedTo = 0;
    let defaultTrack = Number.NaN;
    time.clear();
    while (packet.next()) {
      switch (packet.key) {
        case PACKET.timestamp:
          time.set(packet);
          break;
        case PACKET.sequence:
          sequence = packet.unsigned;
          break;
        case PACKET.sequenceFlags:
          if ((packet.low & STATE_CLEARED) !== 0) isCleared = true;
          break;
        case PACKET.stateCleared:
          if (packet.low !== 0) isCleared = true;
          break;
        case PACKET.internedData:
          internedFrom = packet.from;
          internedTo = packet.to;
          break;
        case PACKET.defaults:
          defaultTrack = this.#defaultTrack(packet);
          break;
        case PACKET.compressed:
        case PACKET.trackEvent:
        case PACKET.renderStage:
        case PACKET.gpuCounters:
        case PACKET.trackDescriptor:
          kind = packet.key;
          eventFrom = packet.from;
          eventTo = packet.to;
          break;
      }
    }
    if (packet.isBroken) return this.#faults.add('broken-packet', at);
    if (kind === PACKET.compressed) return this.#stream.unpack(buffer.subarray(eventFrom, eventTo), at);
    const interned = this.#sequence(sequence, isCleared, at);
    if (!Number.isNaN(defaultTrack)) interned.defaultTrack = defaultTrack;
    let isWhole = true;
    if (internedFrom >= 0) isWhole = this.#interned.read(packet, internedFrom, internedTo, interned);
    if (kind !== 0) {
      if (this.#row.isFull) this.#flush();
      this.#row.counters.begin(at);
      if (kind === PACKET.trackEvent)
        isWhole = this.#events.read(buffer, eventFrom, eventTo, interned, at) && isWhole;
      else if (kind === PACKET.renderStage)
        isWhole = this.#stages.read(buffer, eventFrom, eventTo, interned, at) && isWhole;
      else if (kind === PACKET.gpuCounters)
        isWhole = this.#counters.read(buffer, eventFrom, eventTo, interned, () => this.#flush()) && isWhole;
      else isWhole = tracks.add(buffer, eventFrom, eventTo) && isWhole;
      this.#row.counters.commit();
    }
    if (!isWhole) this.#faults.add('broken-packet', at);
  }

  #sequence(id: number, isCleared: boolean, at: number): Interned {
    const known = this.#sequences.get(id);
    if (known && !isCleared) return known;
    const fresh = new Interned();
    if (!known && this.#sequences.size >= MAX_SEQUENCES) this.#faults.add('too-many-sequences', at);
    else this.#sequences.set(id, fresh);
    return fresh;
  }

  #defaultTrack(packet: MessageReader): number {
    const defaults = this.#inner.openIn(packet);
    while (defaults.next()) {
      if (defaults.key !== DEFAULTS.trackEvent) continue;
      const events = new MessageReader().openIn(defaults);
      while (events.next()) if (events.key === DEFAULTS.trackUuid) return events.unsigned;
    }
    return Number.NaN;
  }

  #flush(): void {
    this.#builder.append(this.#row.finishBatch());
    this.#row.startBatch();
    const late = this.#late;
    this.#late = [];
    for (let i = 0; i < late.length; i += 2) this.#builder.setDuration(late[i]!, late[i + 1]!);
  }

  #setDuration(row: number, ns: number): void {
    const { columns } = this.#row;
    if (row < columns.rowBase) this.#builder.setDuration(row, ns);
    else if (ns >= 0 && ns < NARROW) columns.dur[row - columns.rowBase] = ns;
    else this.#late.push(row, ns);
  }
}
/** The largest value of the column means that another table has it. */
const NARROW = 0xffffffff;

/** What is known of the trace as a whole. `arch`: `sm_90`, of the GPUs with these numbers. */
function headerOf(gpus: ReadonlySet<number>, arch: string, problems: ProblemLog): TraceHeader {
  // The exporter writes no header. Times count from 1970.
  return { ...parseHeader(new Map(), problems), devices: devicesOf(gpus, arch) };
}

/** The exporter writes no names of GPUs, only what they can compute, and that not in all versions. */
function devicesOf(gpus: ReadonlySet<number>, arch: string): readonly DeviceInfo[] {
  const [, major, minor] = /^sm_(\d{1,2})(\d)$/.exec(arch) ?? [];
  return [...gpus]
    .sort((a, b) => a - b)
    .map((id) => ({
      id,
      name: major === undefined ? 'unknown GPU' : `unknown GPU (${arch})`,
      totalMemory: null,
      computeMajor: major === undefined ? null : Number(major),
      computeMinor: minor === undefined ? null : Number(minor),
      multiprocessors: null,
      warpSize: null,
    }));
}
