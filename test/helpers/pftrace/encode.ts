import { gunzipSync } from 'node:zlib';
import type { Message } from './message.js';
import * as p from './packets.js';

/** Layouts of PyTorch's exporters, oldest first: see test/fixtures/perfetto/make.py and docs/decisions/0038. */
export const LAYOUTS = ['kineto', 'slices', 'stages', 'categories'] as const;
export type Layout = (typeof LAYOUTS)[number];

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

/** A Chrome trace, packed or not, as a Perfetto trace. */
export function toPftrace(json: Uint8Array, layout: Layout): Buffer {
  const text = json[0] === 0x1f ? gunzipSync(json) : Buffer.from(json);
  return new Encoder(JSON.parse(text.toString('utf8')), layout).encode();
}

const number = (id: unknown): number => (typeof id === 'number' ? id & 0x7fffffff : 1);

class Encoder {
  readonly #events: Event[];
  readonly #header: Record<string, unknown>;
  readonly #base: bigint;
  readonly #layout: Layout;
  readonly #uuids = new Map<string, number>();
  readonly #tracks: Buffer[] = [];
  readonly #groups: Buffer[] = [];
  readonly #names = new Map<string, number>();
  readonly #categories = new Map<string, number>();
  readonly #labels = new Map<string, string>();

  constructor({ traceEvents, ...header }: Event, layout: Layout) {
    this.#events = traceEvents;
    this.#header = header;
    this.#base = BigInt(header.baseTimeNanoseconds ?? 0);
    this.#layout = layout;
    for (const e of traceEvents)
      if (e.ph === 'M' && e.args?.name !== undefined)
        this.#labels.set(
          e.name === 'process_name' ? `p ${e.pid}` : `t ${e.pid} ${e.tid}`,
          String(e.args.name),
        );
  }

  encode(): Buffer {
    if (this.#layout === 'kineto') return this.#kineto();
    const rows = this.#layout === 'slices' ? [] : STAGES.flatMap((category) => this.#slices(category));
    const ids = rows.map((e, i) => (this.#layout === 'categories' ? i + 1 : (e.args.correlation ?? 0)));
    const launched = new Map<number, Set<number>>();
    for (const [i, e] of rows.entries())
      launched.set(e.args.correlation, (launched.get(e.args.correlation) ?? new Set()).add(ids[i]!));
    this.#host();
    for (const category of ['cuda_runtime', 'cuda_driver']) this.#calls(category, launched);
    this.#group(
      this.#slices('overhead').map((e) => this.#slice(e, this.#track(-1, 0, 'Overhead', 'Overhead'), [])),
    );
    this.#syncs();
    if (this.#layout === 'slices') for (const category of STAGES) this.#gpuSlices(category);
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
    const clock = this.#layout === 'categories' ? [p.clock(this.#base)] : [];
    return Buffer.concat([...clock, ...this.#tracks, tables, ...this.#groups, ...stages]);
  }

  #laneName(stream: string): string {
    return this.#layout === 'categories'
      ? `[${stream.padStart(4, '0')}] stream ${stream}`
      : `stream ${stream.padStart(4, '0')}`;
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
    return this.#layout === 'categories' && name ? { category: this.#intern(this.#categories, name) } : {};
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
        const links = LAUNCHES.test(e.name)
          ? this.#layout === 'slices'
            ? { flow: correlation }
            : { launched: [...(launched.get(correlation) ?? [])] }
          : {};
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

  #gpuSlices(category: string): void {
    this.#group(
      this.#slices(category).map((e) => {
        const { 'External id': external, ...args } = e.args;
        const [, kind, from, to] = /^Memcpy (\w+) \((\w+) -> (\w+)\)/.exec(e.name) ?? [];
        const isCopy = category === 'gpu_memcpy';
        const isFill = category === 'gpu_memset';
        const own = {
          ...(isCopy && {
            'copy kind': kind,
            'src kind': from?.toLowerCase(),
            'dst kind': to?.toLowerCase(),
          }),
          ...(isFill && { 'memory kind': 3 }),
          ...(category === 'gpu_user_annotation' && { 'External id': external }),
        };
        const track = this.#track(e.pid, e.tid, `GPU ${e.pid}`, `stream ${e.tid}`);
        const name = isCopy ? 'Memcpy' : isFill ? 'Memset' : e.name;
        return this.#slice(e, track, annotationsOf({ ...args, ...own }), { flow: args.correlation }, name);
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
      const collective =
        this.#layout === 'categories' ? Object.keys(args).filter((k) => COLLECTIVE.test(k)) : [];
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

  /** Kineto's own builder: a track for each event, its arguments as one text. */
  #kineto(): Buffer {
    const out: Buffer[] = [p.processTrack(1, 0, 'Kineto Trace')];
    this.#uuids.set('Kineto Trace', 1);
    for (const [key, value] of Object.entries(this.#header)) {
      const isDevices = key === 'deviceProperties' && Array.isArray(value);
      const text = isDevices ? value.map((d) => JSON.stringify(d)).join(', ') : JSON.stringify(value);
      const field = p.annotation(isDevices ? 'properties' : key, text);
      out.push(p.instant(isDevices ? 'device_properties' : 'trace_metadata', 1, field));
    }
    for (const [i, e] of this.#events.entries()) {
      if (e.ph !== 'X' || e.cat === 'Trace') continue;
      const parent = this.#track(e.pid, e.tid);
      out.push(...this.#tracks.splice(0), p.childTrack(1_000_000 + i, parent));
      const args = e.args ?? {};
      const annotations = [p.annotation('metadata', JSON.stringify(args).slice(1, -1))];
      if (args.correlation) annotations.push(p.annotation('correlation_id', args.correlation));
      const ns = this.#start(e);
      const track = 1_000_000 + i;
      out.push(p.begin({ ns, track, name: String(e.name ?? ''), annotations, flow: args.correlation }));
      out.push(p.end(ns + BigInt(this.#length(e)), track));
    }
    return Buffer.concat(out);
  }
}

const annotationsOf = (args: Record<string, unknown> | undefined): Message[] =>
  Object.entries(args ?? {})
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => p.annotation(key, value));

const waits = (args: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(args).filter(([key]) => key.startsWith('wait_on')));
