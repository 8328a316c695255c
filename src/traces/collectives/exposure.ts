import { CoverageCursor, type Spans } from '../../base/intervals.js';
import { lowerBound } from '../../base/search.js';

/**
 * The part of each collective that nothing hides. Where several run at once, each has an equal part of that time, so that the
 * sum is time that passed. `covered`: what hides them. `all`: every collective that is asked for.
 */
export function exposure(
  covered: Spans,
  all: readonly (readonly [start: number, end: number])[],
): (start: number, end: number) => number {
  const starts = Float64Array.from(all, ([start]) => start).sort();
  const ends = Float64Array.from(all, ([start, end]) => Math.max(start, end)).sort();
  const bounds = new Float64Array(2 * all.length);
  /** Exposed time up to each bound, divided by the number of collectives that run. */
  const until = new Float64Array(2 * all.length);
  const cursor = new CoverageCursor(covered);
  let [begun, ended] = [0, 0];
  for (let i = 0; i < bounds.length; i++) {
    const running = begun - ended;
    const isStart = begun < starts.length && starts[begun]! <= ends[ended]!;
    bounds[i] = isStart ? starts[begun++]! : ends[ended++]!;
    if (i === 0) continue;
    const [from, to] = [bounds[i - 1]!, bounds[i]!];
    const exposed = running > 0 && to > from ? to - from - cursor.covered(from, to) : 0;
    until[i] = until[i - 1]! + exposed / Math.max(1, running);
  }
  const at = (time: number) => until[lowerBound(bounds, time)] ?? 0;
  return (start, end) => Math.max(0, at(end) - at(start));
}
