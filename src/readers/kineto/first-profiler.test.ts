import { describe, expect, it } from 'vitest';
import { readTrace } from '../../../test/helpers/read-trace.js';
import { Trace } from '../../model/trace.js';
import { analyzeTrace } from '../../traces/analyze-trace.js';

const span = (name: string, pid: string, ts: number, dur: number) => ({
  name,
  ph: 'X',
  ts,
  dur,
  tid: 1,
  pid,
  args: {},
});
const operators = ['aten::linear', 'aten::addmm', 'aten::relu'].map((name, i) =>
  span(name, 'CPU functions', 100 + 1000 * i, 900),
);
const read = (events: readonly object[]) => new Trace(readTrace(JSON.stringify(events)).trace);

describe('a trace of the first profiler, which wrote no categories', () => {
  it('has operators', () => {
    const trace = read(operators);
    expect(trace.data.kinds.filter((k) => k.events > 0)).toMatchObject([
      { categoryName: 'cpu_op', events: 3 },
    ]);
    const facts = analyzeTrace(trace, { steps: null })!;
    expect(facts.hasGpuWork).toBe(false);
    expect(facts.detail!.operators.map((o) => o.name)).toContain('aten::addmm');
  });

  it('has kernels if it recorded a GPU', () => {
    const trace = read([...operators, span('addmm', 'CUDA functions', 1500, 400)]);
    expect(analyzeTrace(trace, { steps: null })!.hasGpuWork).toBe(true);
  });

  it('keeps what another process wrote', () => {
    const trace = read([...operators, span('work', '7', 0, 10)]);
    expect(trace.data.kinds.reduce((n, k) => n + k.events, 0)).toBe(4);
    expect(trace.data.kinds.find((k) => k.categoryName === '')!.events).toBe(1);
  });
});
