import { Category } from '../../model/category.js';
import { NO_I32, NO_ID, type TrackInfo } from '../../model/trace-data.js';
import { GrowingColumns } from '../common/growing-columns.js';

/** Kinds of events, as Kineto names them. Ranges that need not nest count only as steps. */
export const KINDS = [
  ['cuda_runtime', Category.runtime, 'X'],
  ['kernel', Category.kernel, 'X'],
  ['gpu_memcpy', Category.memcpy, 'X'],
  ['gpu_memset', Category.memset, 'X'],
  ['user_annotation', Category.annotation, 'X'],
  ['cpu_op', Category.cpuOp, 'X'],
  ['os_runtime', Category.other, 'X'],
  ['nvtx_start_end', Category.other, ''],
  ['uvm_migration', Category.other, 'X'],
] as const;
export type EventKind = (typeof KINDS)[number][0];
export const KIND = Object.fromEntries(KINDS.map(([name], i) => [name, i])) as Readonly<
  Record<EventKind, number>
>;

/** The track has 16 bits. */
const MAX_TRACKS = 0xfffe;
/** Any process: the table does not say. */
export const ANY_PROCESS = -1;

export interface GpuArguments {
  readonly stream: number;
  readonly device: number;
  readonly grid: number;
  readonly block: number;
  readonly registers: number;
  readonly sharedMemory: number;
}

/** Rows of the trace while it is read. */
export class EventColumns {
  readonly rows = new GrowingColumns({
    ts: Float64Array,
    dur: Float64Array,
    name: Uint32Array,
    correlation: Uint32Array,
    track: Uint16Array,
    kind: Uint8Array,
    process: Int32Array,
  });
  readonly #gpu = new GrowingColumns({
    row: Uint32Array,
    stream: Int32Array,
    device: Uint8Array,
    grid: Uint32Array,
    block: Uint32Array,
    registers: Uint16Array,
    sharedMemory: Uint32Array,
  });
  readonly #graphs = new GrowingColumns({ row: Uint32Array, graph: Uint32Array, node: Uint32Array });
  readonly #copies = new GrowingColumns({ row: Uint32Array, bytes: Float64Array });
  readonly #tracks: TrackInfo[] = [];
  readonly #trackIndex = new Map<number, number>();

  add(kind: EventKind, process: number, track: number, start: number, end: number, name: number): number {
    const row = this.rows.addRow();
    const { columns } = this.rows;
    columns.ts[row] = start;
    columns.dur[row] = end - start;
    columns.name[row] = name;
    columns.correlation[row] = NO_ID;
    columns.track[row] = track;
    columns.kind[row] = KIND[kind];
    columns.process[row] = process;
    return row;
  }

  correlate(row: number, id: number): void {
    if (id >= 0 && id < NO_ID) this.rows.columns.correlation[row] = id;
  }

  hostTrack(process: number, thread: number): number {
    return this.#track(process * 2 ** 24 + thread, process, thread);
  }

  /** Named as Kineto does: the device in place of the process. */
  gpuTrack(device: number, stream: number): number {
    return this.#track(-1 - (device * 2 ** 24 + stream), device, stream);
  }

  /** The device of a GPU track. */
  deviceOf(track: number): number {
    return Number(this.#tracks[track]!.pid);
  }

  #track(key: number, pid: number, tid: number): number {
    const known = this.#trackIndex.get(key);
    if (known !== undefined) return known;
    if (this.#tracks.length === MAX_TRACKS) return MAX_TRACKS - 1;
    this.#trackIndex.set(key, this.#tracks.length);
    return this.#tracks.push({ pid: `${pid}`, tid: `${tid}` }) - 1;
  }

  gpu(row: number, { stream, device, grid, block, registers, sharedMemory }: GpuArguments): void {
    const at = this.#gpu.addRow();
    const { columns } = this.#gpu;
    columns.row[at] = row;
    columns.stream[at] = Number.isNaN(stream) ? NO_I32 : stream;
    columns.device[at] = device >= 0 && device < 255 ? device : 255;
    columns.grid[at] = grid;
    columns.block[at] = block;
    columns.registers[at] = registers >= 0 && registers < 65535 ? registers : 65535;
    columns.sharedMemory[at] = sharedMemory >= 0 && sharedMemory < NO_ID ? sharedMemory : NO_ID;
  }

  graph(row: number, graph: number, node: number): void {
    const at = this.#graphs.addRow();
    this.#graphs.columns.row[at] = row;
    // Node ids have 64 bits; the lower half distinguishes nodes.
    this.#graphs.columns.graph[at] = graph >= 0 ? graph % 2 ** 32 : NO_ID;
    this.#graphs.columns.node[at] = node >= 0 ? node % 2 ** 32 : NO_ID;
  }

  copy(row: number, bytes: number): void {
    const at = this.#copies.addRow();
    this.#copies.columns.row[at] = row;
    this.#copies.columns.bytes[at] = bytes >= 0 ? bytes : Number.NaN;
  }

  /** Call once. */
  finish() {
    return {
      rows: this.rows.finish(),
      gpu: this.#gpu.finish(),
      graphs: this.#graphs.finish(),
      copies: this.#copies.finish(),
      tracks: this.#tracks as readonly TrackInfo[],
    };
  }
}

export type Events = ReturnType<EventColumns['finish']>;
