import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cases } from '../../test/helpers/cases.js';
import { readTrace } from '../../test/helpers/read-trace.js';
import { TIME_CLASSES } from '../facts/time-class.js';
import { Trace } from '../model/trace.js';
import { boundDrawing } from './bounded.js';
import { type ClassSpans, drawTrace } from './draw-trace.js';
import { decodeRow } from './slices.js';
import { traceTracks } from './trace-rank.js';

/** Events as a damaged file may have them: any order, overlaps, lengths of zero, below it and far beyond the rest. */
const event = fc.record({
  ph: fc.constantFrom('X', 'X', 'X', 'X', 'B', 'i'),
  cat: fc.constantFrom(
    'cpu_op',
    'kernel',
    'gpu_memcpy',
    'cuda_runtime',
    'user_annotation',
    'gpu_user_annotation',
    'cuda_sync',
    'overhead',
  ),
  name: fc.constantFrom(
    'aten::mm',
    'gemm',
    'Memcpy HtoD',
    'cudaLaunchKernel',
    'ProfilerStep#1',
    'ProfilerStep#2',
    '',
  ),
  pid: fc.constantFrom(0, 7),
  tid: fc.nat(9),
  ts: fc.oneof(fc.nat(500), fc.constantFrom(-5, 1e12, 0.25)),
  dur: fc.oneof(fc.nat(80), fc.constantFrom(0, -1, 1e9)),
  args: fc.record({ correlation: fc.nat(20), stream: fc.nat(9) }),
});
const events = fc.array(event, { maxLength: 150 });

const drawn = (list: readonly unknown[]) => {
  const { trace } = readTrace(JSON.stringify({ schemaVersion: 1, traceEvents: list }));
  const whole = new Trace(trace);
  return { trace: whole, drawing: drawTrace(whole) };
};
/** Rounded to the precision of doubles over 1e15 ns. */
function timesOf({ start, end, class: kinds }: ClassSpans, from: number, to: number): number[] {
  const sums = TIME_CLASSES.map(() => 0);
  for (let i = 0; i < start.length; i++)
    sums[kinds[i]!]! += Math.max(0, Math.min(to, end[i]!) - Math.max(from, start[i]!));
  return sums.map((t) => Math.round(t / 10));
}
const isSlice = (e: { ph: string }) => e.ph === 'X' || e.ph === 'B';

describe('a drawing of any trace', () => {
  it('has every span once, in rows without overlap', () => {
    fc.assert(
      fc.property(events, (list) => {
        const { trace, drawing } = drawn(list);
        if (!drawing) return;
        const rows = drawing.tracks.flatMap((t) => t.rows);
        const all = rows.flatMap((r) => [...r]);
        expect(new Set(all).size).toBe(all.length);
        expect(all.length).toBeLessThanOrEqual(list.filter(isSlice).length);
        const { ts, dur } = trace.data;
        for (const row of rows)
          for (let i = 1; i < row.length; i++)
            expect(ts[row[i]!]).toBeGreaterThanOrEqual(ts[row[i - 1]!]! + Math.max(0, dur[row[i - 1]!]!));
        const { start, end } = drawing.classes;
        for (let i = 1; i < start.length; i++) expect(start[i]).toBeGreaterThanOrEqual(end[i - 1]!);
      }),
      { numRuns: cases(30, 60) },
    );
  });

  it('keeps count and time when it is bounded', () => {
    fc.assert(
      fc.property(events, fc.constantFrom(5, 20, 1000), (list, budget) => {
        const { trace, drawing } = drawn(list);
        if (!drawing) return;
        const bounded = boundDrawing(trace, drawing, budget);
        const tracks = traceTracks(trace, drawing);
        // Every step and the whole have the same time in each class.
        const { number, from, to } = drawing.steps;
        const ranges = Array.from(number, (_, i) => [from[i]!, to[i]!] as const);
        for (const [start, end] of [...ranges, [drawing.from, drawing.to] as const])
          expect(timesOf(bounded.classes, start, end)).toEqual(timesOf(drawing.classes, start, end));
        bounded.tracks.forEach((track, t) => {
          track.rows.forEach((row, r) => {
            const slices = decodeRow(row);
            const sum = (of: (i: number) => number, n: number) =>
              Array.from({ length: n }, (_, i) => of(i)).reduce((a, b) => a + b, 0);
            const whole = tracks[t]!.rows[r]!;
            expect(sum((i) => slices.count(i), slices.length)).toBe(whole.length);
            const busy = sum((i) => whole.busy(i), whole.length);
            expect(sum((i) => slices.busy(i), slices.length) / Math.max(1, busy)).toBeCloseTo(
              Number(busy > 0),
              5,
            );
            for (let i = 1; i < slices.length; i++)
              expect(slices.start(i)).toBeGreaterThanOrEqual(slices.end(i - 1));
          });
        });
      }),
      { numRuns: cases(30, 60) },
    );
  });
});
