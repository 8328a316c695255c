import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Category } from './category.js';
import { findExtents, isHostCall } from './extents.js';
import { RowIndex } from './row-index.js';
import type { StringTable } from './string-table.js';
import type { KindInfo, TraceData } from './trace-data.js';

const NAMES = ['', 'aten::mm', 'cudaLaunchKernel', 'gemm', 'ProfilerStep#3', 'cudaMemcpyAsync'];
const PHASES = ['X', 'M', 'i', ''];
/** More than there are bits, so that some kinds share one. */
const KINDS = 40;
const TRACKS = 3;

const event = fc.record({
  kind: fc.nat(KINDS - 1),
  name: fc.nat(NAMES.length - 1),
  track: fc.nat(TRACKS - 1),
  ts: fc.oneof(fc.nat(1000), fc.constant(Number.NaN)),
  dur: fc.nat(50),
});
const traces = fc.array(event, { maxLength: 60 }).map((events) => ({
  events,
  data: {
    rows: events.length,
    kind: Uint8Array.from(events, (e) => e.kind),
    name: Uint16Array.from(events, (e) => e.name),
    track: Uint8Array.from(events, (e) => e.track),
    ts: Float64Array.from(events, (e) => e.ts),
    dur: Uint32Array.from(events, (e) => e.dur),
    tracks: new Array(TRACKS).fill({}),
    kinds: Array.from({ length: KINDS }, (_, i) => ({
      phase: PHASES[i % PHASES.length]!,
      categoryName: '',
      category: (i % 15) as Category,
      events: events.filter((e) => e.kind === i).length,
      folded: 0,
    })),
  } as unknown as TraceData,
}));
const strings = { size: NAMES.length, text: (id: number) => NAMES[id]! } as StringTable;
const isCall = (k: KindInfo) => k.category === Category.runtime || k.category === Category.driver;
const tests: readonly ((k: KindInfo) => boolean)[] = [
  isCall,
  isHostCall,
  (k) => k.category === Category.kernel,
  () => true,
  () => false,
];

it('finds the rows that a look at every row finds, in their order', () => {
  fc.assert(
    fc.property(
      traces,
      fc.constantFrom(...tests),
      fc.constantFrom(/^cuda/, /Step/, /./, /^$/),
      (trace, test, name) => {
        const { data, events } = trace;
        const index = new RowIndex(data, strings);
        const rows = events.flatMap((e, row) => (test(data.kinds[e.kind]!) ? [row] : []));
        expect([...index.ofKinds(test)]).toEqual(rows);
        const named = rows.filter((row) => name.test(NAMES[events[row]!.name]!));
        expect([...index.named(test, (text) => name.test(text))]).toEqual(named);
      },
    ),
  );
});

it('finds from when to when events reach', () => {
  fc.assert(
    fc.property(traces, ({ data, events }) => {
      const timed = events.filter((e) => !Number.isNaN(e.ts));
      const reach = (of: typeof events) => [
        Math.min(...of.map((e) => e.ts)),
        Math.max(...of.map((e) => e.ts + e.dur)),
      ];
      const found = findExtents(data);
      const counted = timed.filter((e) => {
        const { phase, category } = data.kinds[e.kind]!;
        return phase !== 'M' && phase !== '' && category !== Category.span && category !== Category.flow;
      });
      expect([found.from, found.to]).toEqual(reach(counted));
      for (let t = 0; t < TRACKS; t++) {
        const onTrack = timed.filter((e) => e.track === t && isHostCall(data.kinds[e.kind]!));
        expect([found.hostFrom[t], found.hostTo[t]]).toEqual(reach(onTrack));
      }
    }),
  );
});
