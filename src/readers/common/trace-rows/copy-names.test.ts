import { expect, it } from 'vitest';
import { readTrace } from '../../../../test/helpers/read-trace.js';
import { Trace } from '../../../model/trace.js';

const copy = (ts: number, args: object, name = 'Memcpy') => ({
  ...{ ph: 'X', cat: 'gpu_memcpy', name, pid: 0, tid: 7, ts, dur: 5 },
  args: { device: 0, stream: 7, bytes: 64, ...args },
});

it.each(['wasm', 'js'] as const)(
  'copies of PyTorch’s own CUPTI backend say where they go (%s)',
  (scanner) => {
    const traceEvents = [
      copy(1, { 'copy kind': 'HtoD', 'src kind': 'pageable', 'dst kind': 'device' }),
      copy(2, { 'copy kind': 'DtoH', 'src kind': 'device', 'dst kind': 'pinned' }),
      copy(3, { 'copy kind': 'HtoD', 'src kind': 'pageable', 'dst kind': 'device' }),
      copy(4, { 'copy kind': 42, 'src kind': 0 }),
      copy(5, {}),
      copy(6, { 'copy kind': 'HtoD' }, 'Memcpy DtoD (Device -> Device)'),
    ];
    const { trace: data } = readTrace(JSON.stringify({ traceEvents }), undefined, scanner);
    const trace = new Trace(data);
    expect(Array.from({ length: data.rows }, (_, row) => trace.name(row))).toEqual([
      'Memcpy HtoD (Pageable -> Device)',
      'Memcpy DtoH (Device -> Pinned)',
      'Memcpy HtoD (Pageable -> Device)',
      'Memcpy',
      'Memcpy',
      'Memcpy DtoD (Device -> Device)',
    ]);
    expect(Object.keys(data.copies)).toEqual(['row', 'bytes', 'bandwidth']);
  },
);
