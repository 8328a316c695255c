import { Trace } from '../../src/model/trace.js';
import { readTrace } from './read-trace.js';

/**
 * A trace drawn as text: one line per track, spans separated by `|`, times in microseconds. `#7` is a correlation id: it
 * joins a launch to its work, which must not start before it.
 *
 *     host 1   ProfilerStep#3 0-100 | aten::mm 10-40 | cudaLaunchKernel 15-18 #7
 *     gpu 7    gemm 20-60 #7 | Memcpy DtoH (Device -> Pinned) 60-80 #8 bytes=1024
 *
 * What a span is follows from its name and track, as in real traces. `x50@20` after the id draws fifty of them, each 20 µs
 * after the one before, with ids that count up.
 */
export function drawTrace(drawing: string, header: Record<string, unknown> = {}): Trace {
  return new Trace(readTrace(drawJson(drawing, header)).trace);
}

export function drawJson(drawing: string, header: Record<string, unknown> = {}): string {
  const events = linesOf(drawing).flatMap(drawTrack);
  refuseEarlyWork(events);
  return JSON.stringify({ schemaVersion: 1, ...header, traceEvents: events });
}

/** No GPU starts work before the host launches it. A drawing that says so would test something that cannot happen. */
function refuseEarlyWork(events: readonly DrawnEvent[]): void {
  const onHost = events.filter((e) => !isOnGpu(e) && e.args.correlation !== undefined);
  const launches = new Map(onHost.map((e) => [e.args.correlation, e]));
  for (const work of events.filter(isOnGpu)) {
    const launch = launches.get(work.args.correlation);
    if (launch && work.ts < launch.ts)
      throw new Error(
        `${work.name} (#${work.args.correlation}) starts at ${work.ts - ORIGIN} µs, before ${launch.name} launches it at ${launch.ts - ORIGIN} µs`,
      );
  }
}

/** The same steps over and over: times, step numbers and correlation ids go on counting. */
export function steps(count: number, every: number, drawing: string): string {
  return inTurn(...Array.from({ length: count }, () => [drawing, every] as const));
}

/** Drawings one after the other. Each is drawn from 0 on, with its length in microseconds. */
export function inTurn(...parts: readonly (readonly [drawing: string, length: number])[]): string {
  let from = 0;
  let step = 0;
  return parts
    .map(([drawing, length], part) => {
      const moved = linesOf(drawing).map((line) => moveTrack(line, from, step, part * IDS_PER_PART));
      from += length;
      step += drawing.match(/ProfilerStep#/g)?.length ?? 0;
      return moved.join('\n');
    })
    .join('\n');
}

/** More ids than a drawing uses. */
const IDS_PER_PART = 10_000;
const TRACK = /^(host|gpu) (\d+)\s+(.*)$/;
const SPAN =
  /^(.*?) (-?[\d.]+)-(-?[\d.]+)(?: #(\d+))?(?: x(\d+)@([\d.]+))?((?: (?:bytes|elements|dtype)=\S+)*)$/;

const linesOf = (drawing: string) =>
  drawing
    .split('\n')
    .map((l) => l.trim())
    .filter((l) => l !== '');

function moveTrack(line: string, by: number, step: number, ids: number): string {
  const [, kind, id, rest] = match(TRACK, line, 'track');
  const spans = rest!.split('|').map((span) => {
    const [, name, start, end, correlation, count, every, args] = match(SPAN, span.trim(), 'span');
    const numbered = name!.replace(/^ProfilerStep#(\d+)$/, (_, n) => `ProfilerStep#${Number(n) + step}`);
    return [
      `${numbered} ${Number(start) + by}-${Number(end) + by}`,
      correlation ? ` #${Number(correlation) + ids}` : '',
      count ? ` x${count}@${every}` : '',
      args ?? '',
    ].join('');
  });
  return `${kind} ${id}  ${spans.join(' | ')}`;
}

interface DrawnEvent {
  readonly ph: 'X';
  readonly cat: string;
  readonly name: string;
  readonly pid: number;
  readonly tid: number;
  /** µs. */
  readonly ts: number;
  readonly dur: number;
  readonly args: Readonly<Record<string, unknown>>;
}

/** Drawings start at this time, in µs: some have spans before 0. */
const ORIGIN = 1000;
const GPU_PID = 0;
const HOST_PID = 100;
const isOnGpu = (event: DrawnEvent) => event.pid === GPU_PID;

function drawTrack(line: string): DrawnEvent[] {
  const [, kind, id, rest] = match(TRACK, line, 'track');
  return rest!.split('|').flatMap((span) => drawSpans(kind as 'host' | 'gpu', Number(id), span.trim()));
}

function drawSpans(kind: 'host' | 'gpu', track: number, span: string): DrawnEvent[] {
  const [, name, start, end, correlation, count, every, more] = match(SPAN, span, 'span');
  const ts = Number(start);
  return Array.from({ length: Number(count ?? 1) }, (_, i) => ({
    ph: 'X',
    cat: categoryFor(kind, name!),
    name: name!,
    pid: kind === 'gpu' ? GPU_PID : HOST_PID,
    tid: track,
    ts: ts + ORIGIN + i * Number(every ?? 0),
    dur: Number(end) - ts,
    args: {
      ...(correlation ? { correlation: Number(correlation) + i } : {}),
      ...(kind === 'gpu' ? { stream: track, device: 0 } : {}),
      ...drawArgs(more ?? ''),
    },
  }));
}

const ARG_NAMES: Readonly<Record<string, string>> = {
  bytes: 'bytes',
  elements: 'In msg nelems',
  dtype: 'dtype',
};

function drawArgs(text: string): Record<string, unknown> {
  const pairs = [...text.matchAll(/ (\w+)=(\S+)/g)];
  return Object.fromEntries(
    pairs.map(([, key, value]) => [ARG_NAMES[key!]!, /^\d/.test(value!) ? Number(value) : value]),
  );
}

function match(pattern: RegExp, text: string, what: string): readonly (string | undefined)[] {
  const found = pattern.exec(text);
  if (!found) throw new Error(`no ${what}: ${text}`);
  return found;
}

function categoryFor(kind: 'host' | 'gpu', name: string): string {
  if (kind === 'gpu')
    return name.startsWith('Memcpy') ? 'gpu_memcpy' : name.startsWith('Memset') ? 'gpu_memset' : 'kernel';
  if (/^(?:ProfilerStep#|enumerate\(|Optimizer\.|train_step|iteration |step\[|execute_|record:)/.test(name))
    return 'user_annotation';
  if (/^(?:cuda|hip)[A-Z]/.test(name)) return 'cuda_runtime';
  if (/^cu[A-Z]/.test(name)) return 'cuda_driver';
  // As nsys records them.
  if (/^(?:read|write|poll|pthread_cond_wait)$/.test(name)) return 'os_runtime';
  return /\.py\(/.test(name) ? 'python_function' : 'cpu_op';
}
