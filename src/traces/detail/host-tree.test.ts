import { describe, expect, it } from 'vitest';
import { drawTrace } from '../../../test/helpers/draw-trace.js';
import type { Trace } from '../../model/trace.js';
import { buildHostTree, type HostTree } from './host-tree.js';
import { totalOperators } from './operators.js';
import { Role } from './roles.js';

/** All threads of the drawing. Times in microseconds from its first span. */
function treeOf(drawing: string, from = -1e9, to = 1e9): { trace: Trace; tree: HostTree } {
  const trace = drawTrace(drawing);
  const threads = trace.data.tracks.flatMap((t, i) => (t.pid === '100' ? [i] : []));
  return { trace, tree: buildHostTree(trace, threads, from * 1000, to * 1000) };
}

function calls(drawing: string, from?: number, to?: number) {
  const { trace, tree } = treeOf(drawing, from, to);
  const name = (place: number) => (place < 0 ? null : trace.name(tree.row[place]!));
  return Array.from({ length: tree.length }, (_, i) => ({
    name: name(i),
    parent: name(tree.parent[i]!),
    self: tree.self[i]! / 1000,
    counted: tree.counted[i],
    roles: tree.roles[i]!,
  }));
}

/** Names of the calls that have a role, in order of time. */
const withRole = (drawing: string, role: number) =>
  calls(drawing)
    .filter((c) => (c.roles & role) !== 0)
    .map((c) => c.name);

describe('the tree of host calls', () => {
  it('the tree of host calls has callers and the time outside callees', () => {
    const drawing =
      'host 1  cudaLaunchKernel 15-18 #1 | aten::mm 12-20 | aten::linear 0-40 | aten::add 40-50';
    expect(calls(drawing)).toMatchObject([
      { name: 'aten::linear', parent: null, self: 32 },
      { name: 'aten::mm', parent: 'aten::linear', self: 5 },
      { name: 'cudaLaunchKernel', parent: 'aten::mm', self: 3 },
      { name: 'aten::add', parent: null, self: 10 },
    ]);
  });

  it('goes thread by thread', () => {
    expect(calls('host 1  a 0-100 | b 60-70\nhost 2  c 10-50 | d 20-30')).toMatchObject([
      { name: 'a', parent: null },
      { name: 'b', parent: 'a' },
      { name: 'c', parent: null },
      { name: 'd', parent: 'c', self: 10 },
    ]);
  });

  it('the tree of host calls has the calls that start in the window', () => {
    expect(calls('host 1  a 0-100 | b 20-30 | c 40-50', 20, 40).map((c) => c.name)).toEqual(['b']);
  });

  it('counts operators and calls of runtime and driver, not annotations and frames', () => {
    const drawing =
      'host 1  Optimizer.step#SGD.step 0-90 | aten::add 10-20 | cudaLaunchKernel 12-13 #1 | cuLaunchKernel 30-31 #2 | train.py(3): f 40-50';
    expect(calls(drawing).map((c) => c.counted)).toEqual([0, 1, 1, 1]);
  });

  it('finds calls by their row', () => {
    const { tree } = treeOf('host 1  cudaFree 60-70 | cudaMalloc 0-100\ngpu 7  k 0-5');
    expect([0, 1, 2].map(tree.indexOf)).toEqual([1, 0, -1]);
  });

  it('passes roles on to callees', () => {
    const drawing = `
      host 1  Optimizer.step#AdamW.step 0-50 | aten::mul_ 10-30 | cudaLaunchKernel 15-16 #1
      host 1  autograd::engine::evaluate_function: MmBackward0 60-90 | aten::mm 65-80 | aten::add 95-99`;
    expect(withRole(drawing, Role.optimizer)).toEqual([
      'Optimizer.step#AdamW.step',
      'aten::mul_',
      'cudaLaunchKernel',
    ]);
    expect(withRole(drawing, Role.backward)).toEqual([
      'autograd::engine::evaluate_function: MmBackward0',
      'aten::mm',
    ]);
  });
});

const NODE = 'autograd::engine::evaluate_function:';

describe('the optimizer', () => {
  it('does not call the step that begins inside it', () => {
    const drawing = `
      host 1  Optimizer.step#Adam.step 0-50 | aten::_foreach_add_ 10-30 | ProfilerStep#2 45-200 | aten::mm 60-80`;
    expect(withRole(drawing, Role.optimizer)).toEqual(['Optimizer.step#Adam.step', 'aten::_foreach_add_']);
  });

  it('keeps a callee that seems to end after it by rounding', () => {
    const drawing = 'host 1  Optimizer.step#Adam.step 0-50 | aten::add_ 30-51';
    expect(withRole(drawing, Role.optimizer)).toEqual(['Optimizer.step#Adam.step', 'aten::add_']);
  });

  it('the closure that an optimizer runs is not the optimizer: forward, and backward on another thread', () => {
    const drawing = `
      host 1  Optimizer.step#AdamW.step 0-100 | aten::linear 5-20 | aten::_foreach_add_ 70-90
      host 2  ${NODE} AddmmBackward0 30-60 | aten::mm 35-50
      host 1  Optimizer.step#AdamW.step 200-250 | aten::_foreach_add_ 210-230`;
    expect(withRole(drawing, Role.optimizer)).toEqual([
      'Optimizer.step#AdamW.step',
      'aten::_foreach_add_',
      'Optimizer.step#AdamW.step',
      'aten::_foreach_add_',
    ]);
  });
});

describe('recomputation', () => {
  it('recomputation is everything between forward operators inside a backward node', () => {
    const drawing = `
      host 1  aten::linear 0-10 | aten::gelu 10-20
      host 2  ${NODE} GeluBackward0 30-90 | GeluBackward0 31-89 | aten::linear 40-50 | aten::addmm 42-48
      host 2  cudaLaunchKernel 43-44 #1 | aten::add 51-55 | aten::gelu 60-65 | aten::gelu_backward 70-80`;
    expect(withRole(drawing, Role.recompute)).toEqual([
      'aten::linear',
      'aten::addmm',
      'cudaLaunchKernel',
      'aten::add',
      'aten::gelu',
    ]);
  });

  it('an ordinary backward pass has no recomputation', () => {
    const drawing = `
      host 1  aten::linear 0-10
      host 2  ${NODE} AddmmBackward0 30-90 | AddmmBackward0 31-89 | aten::mm 40-50 | aten::sum 51-55
      host 2  ${NODE} GeluBackward0 100-120 | aten::gelu_backward 105-110`;
    expect(withRole(drawing, Role.recompute)).toEqual([]);
  });

  it('ends where reentrant checkpointing runs the inner backward pass', () => {
    const drawing = `
      host 2  ${NODE} CheckpointFunctionBackward 0-100 | CheckpointFunctionBackward 1-99
      host 2  aten::linear 10-20 | aten::addmm 11-19 | aten::relu 20-30
      host 2  ${NODE} ReluBackward0 40-50 | aten::threshold_backward 42-48
      host 2  ${NODE} AddmmBackward0 50-70 | aten::mm 55-60`;
    expect(withRole(drawing, Role.recompute)).toEqual(['aten::linear', 'aten::addmm', 'aten::relu']);
  });

  it('goes on after an inner backward node', () => {
    const drawing = `
      host 2  ${NODE} CheckpointFunctionBackward 0-100 | aten::linear 10-20
      host 2  ${NODE} AddmmBackward0 30-50 | aten::mm 35-40 | aten::linear 60-70`;
    expect(withRole(drawing, Role.recompute)).toEqual(['aten::linear', 'aten::linear']);
  });
});

describe('totals of operators', () => {
  it('sum calls by name, most own time first', () => {
    const { trace, tree } = treeOf(
      'host 1  aten::mm 0-10 | aten::mm 20-50 | aten::empty 25-30 | aten::t 60-61',
    );
    expect(totalOperators(trace, tree)).toMatchObject([
      { name: 'aten::mm', count: 2, total: 40_000, self: 35_000, longest: 30_000, longestSelf: 25_000 },
      { name: 'aten::empty', count: 1, total: 5_000, self: 5_000 },
      { name: 'aten::t', count: 1, total: 1_000, self: 1_000 },
    ]);
  });

  it('totals of operators have the roles of all calls', () => {
    const { trace, tree } = treeOf(`
      host 1  aten::copy_ 0-10 | Optimizer.step#SGD.step 20-80 | aten::copy_ 30-70`);
    const copy = totalOperators(trace, tree).find((o) => o.name === 'aten::copy_')!;
    expect(copy.roles).toBe(Role.copies | Role.optimizer);
  });

  it('keep a bounded number of names', () => {
    const names = Array.from({ length: 700 }, (_, i) => `op${i} ${i * 10}-${i * 10 + 1 + (i % 7)}`).join(
      ' | ',
    );
    const { trace, tree } = treeOf(`host 1  ${names}`);
    const kept = totalOperators(trace, tree);
    expect(kept.length).toBe(600);
    expect(kept.at(-1)!.self).toBeLessThanOrEqual(kept[0]!.self);
  });
});
