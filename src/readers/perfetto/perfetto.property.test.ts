import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cases } from '../../../test/helpers/cases.js';
import { toPftrace } from '../../../test/helpers/pftrace/encode.js';
import { Message } from '../../../test/helpers/pftrace/message.js';
import { dumpTrace } from '../../../test/helpers/read-trace.js';
import { readCut } from '../../../test/helpers/readers.js';
import { perfettoReader } from './descriptor.js';
import { MessageReader } from './wire.js';

const CATEGORIES = [
  'cpu_op',
  'user_annotation',
  'python_function',
  'cuda_runtime',
  'kernel',
  'gpu_memcpy',
  'gpu_memset',
];
const leaf = fc.oneof(fc.integer(), fc.double({ noNaN: true }), fc.string(), fc.boolean(), fc.constant(null));
const value = fc.oneof(
  leaf,
  fc.array(leaf, { maxLength: 3 }),
  fc.array(fc.array(leaf, { maxLength: 2 }), { maxLength: 2 }),
);
const event = fc.record({
  ph: fc.constant('X'),
  cat: fc.constantFrom(...CATEGORIES),
  name: fc.oneof(fc.constantFrom('aten::mm', 'ProfilerStep#1', 'cudaLaunchKernel'), fc.string()),
  pid: fc.nat(3),
  tid: fc.nat(3),
  ts: fc.nat(1e6).map((ns) => ns / 1000),
  dur: fc.oneof(
    fc.constant(0),
    fc.nat(1e6).map((ns) => ns / 1000),
  ),
  args: fc.record(
    {
      correlation: fc.nat(9),
      'External id': fc.nat(99),
      'Input Dims': value,
      'Python id': value,
      'Sequence number': value,
      bytes: fc.nat(),
      dtype: fc.string(),
    },
    { requiredKeys: ['External id'] },
  ),
});
const trace = fc.array(event, { minLength: 1, maxLength: 30 });
const encoded = trace.map((traceEvents) =>
  toPftrace(Buffer.from(JSON.stringify({ baseTimeNanoseconds: 1.7e18, traceEvents }))),
);

function read(bytes: Uint8Array, cuts: readonly number[] = []) {
  const result = readCut(perfettoReader, bytes, cuts);
  return result;
}
const runs = { numRuns: cases(60, 2000) };

describe('any trace', () => {
  it('has every slice with its time and length, whatever nests or overlaps', () =>
    fc.assert(
      fc.property(trace, (traceEvents) => {
        const json = Buffer.from(JSON.stringify({ baseTimeNanoseconds: 1.7e18, traceEvents }));
        const { trace: data, problems } = read(toPftrace(json));
        expect(problems.filter((p) => p.code === 'open-slices')).toEqual([]);
        const isStage = (e: (typeof traceEvents)[number]) => /kernel|gpu_/.test(e.cat);
        const times = traceEvents.map(
          (e) => `${Math.round(e.ts * 1000)} ${isStage(e) ? '' : Math.round(e.dur * 1000)}`,
        );
        const read_: string[] = [];
        for (let row = 0; row < data.rows; row++) {
          const { phase, categoryName } = data.kinds[data.kind[row]!]!;
          if (phase !== 'X') continue;
          const start = BigInt(data.ts[row]!) + data.baseNs - 1_700_000_000_000_000_000n;
          // Work on a stream ends where the next begins: the exporter cuts it.
          const isCut = /kernel|gpu_/.test(categoryName);
          read_.push(`${start} ${isCut ? '' : data.dur[row]}`);
        }
        expect(read_.sort()).toEqual(times.sort());
      }),
      runs,
    ));

  it('is the same however its bytes come', () =>
    fc.assert(
      fc.property(encoded, fc.array(fc.nat(4000), { maxLength: 8 }), (bytes, cuts) => {
        const whole = read(bytes);
        const cut = read(
          bytes,
          cuts.map((c) => c % bytes.length),
        );
        expect(dumpTrace(cut.trace)).toEqual(dumpTrace(whole.trace));
        expect(cut.problems).toEqual(whole.problems);
      }),
      runs,
    ));

  it('cut anywhere, keeps rows from its beginning', () =>
    fc.assert(
      fc.property(encoded, fc.nat(1e6), (bytes, at) => {
        const part = read(bytes.subarray(0, at % bytes.length));
        const all = read(bytes).trace;
        expect(part.trace.rows).toBeLessThanOrEqual(all.rows);
        for (let row = 0; row < part.trace.rows; row++)
          if (!Number.isNaN(part.trace.ts[row]!))
            expect(part.trace.baseNs + BigInt(part.trace.ts[row]!)).toBe(all.baseNs + BigInt(all.ts[row]!));
      }),
      runs,
    ));

  it('with any bytes changed, is read without a crash', () =>
    fc.assert(
      fc.property(
        encoded,
        fc.array(fc.tuple(fc.nat(1e6), fc.nat(255)), { minLength: 1 }),
        (bytes, changes) => {
          const changed = Uint8Array.from(bytes);
          for (const [at, byte] of changes) changed[at % changed.length] = byte;
          const { trace: data } = read(changed);
          expect(data.ts.length).toBe(data.rows);
          dumpTrace(data);
        },
      ),
      runs,
    ));

  it('random bytes are read without a crash', () =>
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 2000 }), (bytes) => {
        perfettoReader.sniff(bytes);
        read(bytes);
        // As the content of packets, of events and of annotations.
        for (const path of [[1], [1, 11], [1, 11, 4], [1, 12], [1, 53], [1, 53, 21], [1, 60], [1, 50]]) {
          const inner = path.reduceRight<Uint8Array>(
            (content, field) => new Message().bytes(field, content).finish(),
            bytes,
          );
          read(inner);
        }
      }),
      runs,
    ));
});

describe('numbers on the wire', () => {
  it('are those that were written, to 64 bits', () =>
    fc.assert(
      fc.property(fc.bigInt(-(2n ** 63n), 2n ** 64n - 1n), fc.double(), (whole, decimal) => {
        const b = new Message().number(1, whole).fixed64(2, whole).double(3, decimal).finish();
        const m = new MessageReader().open(b, 0, b.length);
        for (const key of [8, 17]) {
          expect(m.next()).toBe(true);
          expect(m.key).toBe(key);
          expect((BigInt(m.high) << 32n) | BigInt(m.low)).toBe(BigInt.asUintN(64, whole));
          expect(m.signedText).toBe(String(BigInt.asIntN(64, whole)));
          expect(m.signed).toBe(Number(BigInt.asIntN(64, whole)));
        }
        expect(m.next()).toBe(true);
        expect(m.double).toBe(decimal);
        expect(m.next()).toBe(false);
        expect(m.isBroken).toBe(false);
      }),
    ));
});
