import { expect, it } from 'vitest';
import { toPftrace } from '../../../test/helpers/pftrace/encode.js';
import { Trace } from '../../model/trace.js';
import { readCut } from '../common/testing.js';
import { perfettoReader } from './descriptor.js';

const OPERATORS = [
  'aten::mm',
  'AddmmBackward0',
  'autograd::engine::evaluate_function: X',
  'triton_poi_fused_add_0',
];
const COMPILED = [
  'Torch-Compiled Region: 0/0',
  'TorchDynamo Cache Lookup',
  '## Call CompiledFxGraph fab',
  'CompiledFunction',
];
const ANNOTATIONS = [
  'ProfilerStep#3',
  'Optimizer.step#SGD.step',
  'FSDP::pre_forward',
  'nccl:all_reduce',
  'my phase',
];

it('tells operators from annotations where the file does not: by arguments, by names', () => {
  const slice = (name: string, ts: number, args = {}) => ({
    ...{ ph: 'X', cat: 'any', name, pid: 1, tid: 1, ts, dur: 1 },
    args: { 'External id': ts, ...args },
  });
  const traceEvents = [
    ...[...OPERATORS, ...COMPILED, ...ANNOTATIONS].map((name, i) => slice(name, 10 + i)),
    // Only one of the two has the arguments of an operator; a collective has them, too, and is none.
    slice('MyFunction', 100, { 'Sequence number': 5 }),
    slice('MyFunction', 101),
    slice('nccl:broadcast', 102, { 'Input Dims': [[1]] }),
  ];
  const result = readCut(
    perfettoReader,
    toPftrace(Buffer.from(JSON.stringify({ traceEvents })), 'stages'),
    [],
  );
  const trace = new Trace(result.trace);
  const names = (category: string) =>
    [...trace.index.ofKinds((k) => k.categoryName === category)].map((row) => trace.name(row));
  expect(names('cpu_op')).toEqual([...OPERATORS, ...COMPILED, 'MyFunction', 'MyFunction']);
  expect(names('user_annotation')).toEqual([...ANNOTATIONS, 'nccl:broadcast']);
  expect(result.problems).toMatchObject([{ code: 'guessed-categories', count: 16 }]);
});
