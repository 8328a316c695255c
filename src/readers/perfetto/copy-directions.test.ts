import { describe, expect, it } from 'vitest';
import { toPftrace } from '../../../test/helpers/pftrace/encode.js';
import { readCut } from '../../../test/helpers/readers.js';
import { Category } from '../../model/category.js';
import { Trace } from '../../model/trace.js';
import { perfettoReader } from './descriptor.js';

/** A copy, its call and an operator around the call, from and to, in us. */
function namesOf(copy: [number, number], call: [number, number], operator = 'aten::copy_') {
  const at = ([from, to]: [number, number]) => ({ ts: 1e6 + from, dur: to - from });
  const traceEvents = [
    { ph: 'X', cat: 'cpu_op', name: operator, pid: 1, tid: 1, ...at([-5, 9999]), args: { 'External id': 1 } },
    {
      ph: 'X',
      cat: 'cuda_runtime',
      name: 'cudaMemcpyAsync',
      pid: 1,
      tid: 1,
      ...at(call),
      args: { correlation: 9 },
    },
    {
      ph: 'X',
      cat: 'gpu_memcpy',
      name: 'Memcpy',
      pid: 0,
      tid: 7,
      ...at(copy),
      args: { correlation: 9, bytes: 1 },
    },
  ];
  const result = readCut(perfettoReader, toPftrace(Buffer.from(JSON.stringify({ traceEvents }))), []);
  const trace = new Trace(result.trace);
  const row = trace.index.ofKinds((k) => k.category === Category.memcpy)[0]!;
  return [trace.name(row), ...result.problems.map((p) => p.code)];
}

describe('the direction of a copy', () => {
  it('to the host, from a call that returns after it', () =>
    expect(namesOf([10, 500], [0, 520])).toEqual(['Memcpy DtoH (Device -> Pageable)', 'inferred-copies']));

  it('to the device, from a call that returns shortly before it', () =>
    expect(namesOf([10, 500], [0, 480])).toEqual(['Memcpy HtoD (Pageable -> Device)', 'inferred-copies']));

  it('to the host, from the operator behind .item()', () =>
    expect(namesOf([10, 12], [0, 5], 'aten::_local_scalar_dense')).toEqual([
      'Memcpy DtoH (Device -> Pinned)',
      'inferred-copies',
    ]));

  it('is not known where the call returns at once', () =>
    expect(namesOf([10, 500], [0, 8])).toEqual(['Memcpy', 'untold-copies']));

  it('of a short copy does not matter', () => expect(namesOf([10, 50], [0, 60])).toEqual(['Memcpy']));
});
