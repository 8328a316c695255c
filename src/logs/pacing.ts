import { NO_SPANS, type Spans, SpanUnion, subtract } from '../base/intervals.js';
import type { RecordedStep } from './step-records.js';

/** Who set the pace, where the log has how far the device was behind the host. */
export interface Pacing {
  /** The device had done all it was given before the host came to the next mark. */
  readonly byHost: Spans;
  /** The device still had work when the host was past the next mark: it was busy, or held by a collective. */
  readonly byDevice: Spans;
}

/** A mark takes the device 0.01–0.05 ms itself (H200), and its last kernel may still run when the host comes to it. */
const CAUGHT_UP_NS = 100_000;
/** The same as part of a step: what is at stake then is noise. */
const CAUGHT_UP_OF_STEP = 0.02;

/** The host made it at `at − lag`, the device came to it at `at`. ns. */
interface Mark {
  readonly at: number;
  readonly lag: number;
}

/**
 * Between two marks the device took T and the host H, so its lag grew by T − H. Work between the marks was all queued by
 * the time of the second on the host: from there to the mark on the device, which is the lag, the device had no reason to
 * idle. Before that the host was still launching. If launches and kernels are spread evenly, a device that computes longer
 * than the host launches falls behind, and one that does not has caught up at the end: with no lag left the time was set by
 * the host, with some left by the device. How long the device was busy in the host's time is not known: all of it can be
 * won back at most. A wait for the device at the end of a phase (`.item()`) also leaves no lag.
 *
 * Null where lags are not recorded. `step` is what a step takes.
 */
export function findPacing(steps: readonly RecordedStep[], step: number): Pacing | null {
  const marks = marksOf(steps);
  if (marks.length < 2) return null;
  const caughtUp = Math.max(CAUGHT_UP_NS, CAUGHT_UP_OF_STEP * step);
  const byHost = new SpanUnion();
  const all = new SpanUnion();
  for (let i = 1; i < marks.length; i++) {
    const [from, { at, lag }] = [marks[i - 1]!.at, marks[i]!];
    all.add(from, at);
    if (lag <= caughtUp) byHost.add(from, at - Math.max(0, lag));
  }
  const hosts = byHost.finish();
  return { byHost: hosts, byDevice: subtract(all.finish(), hosts) };
}

export const NO_PACING: Pacing = { byHost: NO_SPANS, byDevice: NO_SPANS };

/** Both ends of every record that has a lag, in the device's order. */
function marksOf(steps: readonly RecordedStep[]): Mark[] {
  const marks: Mark[] = [];
  for (const { parts } of steps) {
    for (const { start, ns, hostNs, lag } of [...parts.values()].flat()) {
      if (Number.isNaN(start + hostNs + lag)) continue;
      marks.push({ at: start, lag: lag - ns + hostNs }, { at: start + ns, lag });
    }
  }
  return marks.sort((a, b) => a.at - b.at);
}
