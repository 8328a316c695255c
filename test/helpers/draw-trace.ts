import { Trace } from '../../src/model/trace.js';
import { readTrace } from './read-trace.js';

/**
 * A trace drawn as text: one line a track, spans separated by `|`, times in microseconds, `#` a correlation id.
 *
 *     host 1   ProfilerStep#3 0-100 | aten::mm 10-40 | cudaLaunchKernel 15-18 #7
 *     gpu 7    gemm 20-60 #7
 *
 * What a span is follows from its name and track, as in real traces.
 */
export function drawTrace(drawing: string, header: Record<string, unknown> = {}): Trace {
  return new Trace(readTrace(drawJson(drawing, header)).trace);
}

export function drawJson(drawing: string, header: Record<string, unknown> = {}): string {
  const events = drawing
    .split('\n')
    .map((l) => l.trim())
    .filter((l) => l !== '')
    .flatMap(drawTrack);
  return JSON.stringify({ schemaVersion: 1, ...header, traceEvents: events });
}

function drawTrack(line: string): object[] {
  const [, kind, id, rest] = /^(host|gpu) (\d+)\s+(.*)$/.exec(line) ?? [];
  if (!kind) throw new Error(`no track: ${line}`);
  return rest!.split('|').map((span) => drawSpan(kind as 'host' | 'gpu', Number(id), span.trim()));
}

function drawSpan(kind: 'host' | 'gpu', track: number, span: string): object {
  const [, name, start, end, correlation] = /^(.*?) (-?[\d.]+)-(-?[\d.]+)(?: #(\d+))?$/.exec(span) ?? [];
  if (!name) throw new Error(`no span: ${span}`);
  const ts = Number(start);
  const args = {
    ...(correlation ? { correlation: Number(correlation) } : {}),
    ...(kind === 'gpu' ? { stream: track, device: 0 } : {}),
  };
  const place = kind === 'gpu' ? { pid: 0, tid: track } : { pid: 100, tid: track };
  return {
    ph: 'X',
    cat: categoryFor(kind, name),
    name,
    ...place,
    ts: ts + 1000,
    dur: Number(end) - ts,
    args,
  };
}

function categoryFor(kind: 'host' | 'gpu', name: string): string {
  if (kind === 'gpu')
    return name.startsWith('Memcpy') ? 'gpu_memcpy' : name.startsWith('Memset') ? 'gpu_memset' : 'kernel';
  if (/^(?:ProfilerStep#|enumerate\(|Optimizer\.)/.test(name)) return 'user_annotation';
  if (/^(?:cuda|hip)[A-Z]/.test(name)) return 'cuda_runtime';
  if (/^cu[A-Z]/.test(name)) return 'cuda_driver';
  return /\.py\(/.test(name) ? 'python_function' : 'cpu_op';
}
