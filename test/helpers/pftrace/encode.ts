import { gunzipSync } from 'node:zlib';
import type { Message } from './message.js';
import * as p from './packets.js';

// biome-ignore lint/suspicious/noExplicitAny: events of any trace
type Event = any;

const STAGES = ['kernel', 'gpu_memcpy', 'gpu_memset', 'gpu_user_annotation'];
const STAGE_NAMES = ['Kernel', 'Memcpy', 'Memset', 'Annotation', 'EventRecord', 'HostNode'];
const NOT_ON_HOST = [...STAGES, 'Trace', 'cuda_runtime', 'cuda_driver', 'cuda_sync', 'overhead'];
const DRIVER_CALLS = /^cu(LaunchKernel|LaunchKernelEx|Mem(Create|Map|Unmap|Release|\w+ShareableHandle))$/;
const LAUNCHES = /^cuda(Launch|Memcpy|Memset|GraphLaunch)|^cuLaunchKernel/;
const FIRST_QUEUE = 100;
/** What collectives have in addition to the arguments of all kernels. */
const COLLECTIVE = /^(?:[A-Z]|dtype)/;

/** A Chrome trace, packed or not, as a Perfetto trace in the layout of PyTorch's exporter: see docs/decisions/0038. */
export function toPftrace(json: Uint8Array): Buffer {
  const text = json[0] === 0x1f ? gunzipSync(json) : Buffer.from(json);
  return new Encoder(JSON.parse(text.toString('utf8'))).encode();
}

const number = (id: unknown): number => (typeof id === 'number' ? id & 0x7fffffff : 1);

class Encoder {
  readonly #events: Event[];
  readonly #base: bigint;
  readonly #uuids = new Map<string, number>();
  readonly #tracks: Buffer[] = [];
  readonly #groups: Buffer[] = [];
  readonly #names = new Map<string, number>();
  readonly #categories = new Map<string, number>();
  readonly #labels = new Map<string, string>();

  constructor({ traceEvents, ...header }: Event) {
    this.#events = traceEvents;
    this.#base = BigInt(header.baseTimeNanoseconds ?? 0);
    for (const e of traceEvents)
      if (e.ph === 'M' && e.args?.name !== undefined)
        this.#labels.set(
          e.name === 'process_name' ? `p ${e.pid}` : `t ${e.pid} ${e.tid}`,
          String(e.args.name),
        );
  }

  encode(): Buffer {
    const rows = STAGES.flatMap((category) => this.#slices(category));
    const ids = rows.map((_, i) => i + 1);
    const launched = new Map<number, Set<number>>();
    for (const [i, e] of rows.entries())
      launched.set(e.args.correlation, (launched.get(e.args.correlation) ?? new Set()).add(ids[i]!));
    this.#host();
    for (const category of ['cuda_runtime', 'cuda_driver']) this.#calls(category, launched);
    this.#group(
      this.#slices('overhead').map((e) => this.#slice(e, this.#track(-1, 0, 'Overhead', 'Overhead'), [])),
    );
    this.#syncs();
    const lanes = [...new Set(rows.map((e) => `${e.pid} ${e.tid}`))];
    const kernels = new Map<string, number>();
    const stages = this.#stages(rows, ids, lanes, kernels);
    const tables = p.interned({
      names: [...this.#names.keys()],
      categories: [...this.#categories.keys()],
      specifications: [
        ...STAGE_NAMES.map((name, i) => [i + 1, name] as const),
        ...lanes.map((lane, i) => [FIRST_QUEUE + i, this.#laneName(lane.split(' ')[1]!)] as const),
      ],
      kernels: [...kernels.keys()],
      argumentNames: ['registers_per_thread', 'shared_mem_dynamic', 'thread_count'],
    });
    return Buffer.concat([p.clock(this.#base), ...this.#tracks, tables, ...this.#groups, ...stages]);
  }

  #laneName(stream: string): string {
    return `[${stream.padStart(4, '0')}] stream ${stream}`;
  }

  #slices(category: string): Event[] {
    return this.#events.filter((e) => e.ph === 'X' && e.cat === category);
  }

  #start(e: Event): bigint {
    return this.#base + BigInt(Math.round((e.ts ?? 0) * 1000));
  }

  #length(e: Event): number {
    return Math.round((e.dur ?? 0) * 1000);
  }

  #intern(table: Map<string, number>, text: string): number {
    const id = table.get(text) ?? table.size + 1;
    table.set(text, id);
    return id;
  }

  #track(pid: unknown, tid: unknown, process = '', thread = ''): number {
    const [above, own] = [`p ${pid}`, `t ${pid} ${tid}`];
    if (!this.#uuids.has(above)) {
      this.#uuids.set(above, this.#uuids.size + 1);
      const name = this.#labels.get(above) || process || String(pid);
      this.#tracks.push(p.processTrack(this.#uuids.get(above)!, number(pid), name));
    }
    if (!this.#uuids.has(own)) {
      this.#uuids.set(own, this.#uuids.size + 1);
      const name = this.#labels.get(own) || thread || String(tid);
      this.#tracks.push(
        p.threadTrack(this.#uuids.get(own)!, this.#uuids.get(above)!, number(pid), number(tid), name),
      );
    }
    return this.#uuids.get(own)!;
  }

  #slice(
    e: Event,
    track: number,
    annotations: readonly Message[],
    more: Partial<p.Begin> = {},
    name = e.name,
  ) {
    const ns = this.#start(e);
    const named = this.#intern(this.#names, String(name ?? ''));
    const begin: p.Begin = { ns, track, name: named, annotations, ...more };
    return { begin, end: ns + BigInt(this.#length(e)) };
  }

  /** All begins, and then all ends in the same order. */
  #group(slices: readonly { readonly begin: p.Begin; readonly end: bigint }[]): void {
    for (const { begin } of slices) this.#groups.push(p.begin(begin));
    for (const { begin, end } of slices) this.#groups.push(p.end(end, begin.track));
  }

  #category(name: string | undefined): Partial<p.Begin> {
    return name ? { category: this.#intern(this.#categories, name) } : {};
  }

  #host(): void {
    const onHost = this.#events.filter((e) => e.ph === 'X' && !NOT_ON_HOST.includes(e.cat));
    this.#group(
      onHost.map((e) =>
        this.#slice(e, this.#track(e.pid, e.tid), annotationsOf(e.args), this.#category(e.cat)),
      ),
    );
  }

  #calls(category: string, launched: ReadonlyMap<number, ReadonlySet<number>>): void {
    const calls = this.#slices(category).filter(
      (e) => category !== 'cuda_driver' || DRIVER_CALLS.test(e.name),
    );
    this.#group(
      calls.map((e) => {
        const { cbid = 0, correlation = 0 } = e.args;
        const links = LAUNCHES.test(e.name) ? { launched: [...(launched.get(correlation) ?? [])] } : {};
        const track = this.#track(e.pid, e.tid, `process ${e.pid}`, `thread ${e.tid}`);
        return this.#slice(e, track, annotationsOf({ cbid, correlation }), {
          ...this.#category(category),
          ...links,
        });
      }),
    );
  }

  #syncs(): void {
    this.#group(
      this.#slices('cuda_sync').map((e) => {
        const { stream, correlation, device, context, ...rest } = e.args;
        const args = { stream, correlation, device, context, cuda_sync_kind: e.name, ...waits(rest) };
        return this.#slice(
          e,
          this.#track(e.pid, e.tid, `GPU ${e.pid}`, `stream ${e.tid}`),
          annotationsOf(args),
        );
      }),
    );
  }

  #stages(
    rows: readonly Event[],
    ids: readonly number[],
    lanes: readonly string[],
    kernels: Map<string, number>,
  ) {
    const durations = this.#clamped(rows);
    return rows.map((e, i) => {
      const { args } = e;
      const isKernel = e.cat === 'kernel';
      const hasName = isKernel || e.cat === 'gpu_user_annotation';
      const keys = ['correlation', 'queued', 'graph id', 'graph node id', 'bytes'].filter((key) => args[key]);
      const collective = Object.keys(args).filter((k) => COLLECTIVE.test(k));
      return p.renderStage({
        ns: this.#start(e),
        duration: durations[i]!,
        id: ids[i]!,
        gpu: e.pid,
        queue: FIRST_QUEUE + lanes.indexOf(`${e.pid} ${e.tid}`),
        stage: STAGES.indexOf(e.cat) + 1,
        name: hasName ? this.#intern(this.#names, e.name) : 0,
        kernel: isKernel && args.grid?.[0] > 0 ? this.#intern(kernels, e.name) : 0,
        grid: isKernel && args.grid?.[0] > 0 ? args.grid : null,
        block: args.block ?? null,
        registers: args['registers per thread'] ?? 0,
        extra: [
          ['device id', `${e.pid}`],
          ['context id', `${args.context ?? 0}`],
          ['stream id', `${e.tid}`],
          ...keys.map((key) => [key, `${args[key]}`] as const),
          ...(e.cat === 'gpu_memset' ? ([['memory kind', '3']] as const) : []),
          ['arch', 'sm_90'],
          ['process_id', '4711'],
          ...collective
            .filter((key) => key !== 'External id')
            .map((k) => [k, typeof args[k] === 'string' ? args[k] : JSON.stringify(args[k])] as const),
        ],
      });
    });
  }

  /** A lane is drawn as one row, so work ends where the next begins. Annotations keep their length. */
  #clamped(rows: readonly Event[]): number[] {
    const durations = rows.map((e) => this.#length(e));
    const order = rows.map((_, i) => i).filter((i) => rows[i]!.cat !== 'gpu_user_annotation');
    order.sort((a, b) => Number(this.#start(rows[a]!) - this.#start(rows[b]!)) || a - b);
    const last = new Map<string, number>();
    for (const i of order) {
      const lane = `${rows[i]!.pid} ${rows[i]!.tid}`;
      const before = last.get(lane);
      if (before !== undefined) {
        const gap = Number(this.#start(rows[i]!) - this.#start(rows[before]!));
        durations[before] = Math.min(durations[before]!, Math.max(0, gap));
      }
      last.set(lane, i);
    }
    return durations;
  }
}

const annotationsOf = (args: Record<string, unknown> | undefined): Message[] =>
  Object.entries(args ?? {})
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => p.annotation(key, value));

const waits = (args: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(args).filter(([key]) => key.startsWith('wait_on')));
