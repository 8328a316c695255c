import { NO_SPANS, type Spans, SpanUnion, subtract } from '../base/intervals.js';
import type { RecordedStep } from './step-records.js';

/** Who set the pace, for logs that record how far the device was behind the host. */
export interface PacedSpans {
  /** The device had finished all queued work when the host reached the next mark. */
  readonly byHost: Spans;
  /** The device still had work then: it was busy, or held by a collective. */
  readonly byDevice: Spans;
}

export const NO_PACED_SPANS: PacedSpans = { byHost: NO_SPANS, byDevice: NO_SPANS };

/** A lag below this is none: a mark takes the device 0.01–0.05 ms itself (H200), and its last kernel may still run. */
const CAUGHT_UP_NS = 100_000;
/** The same as a share of the step: less is noise. */
const CAUGHT_UP_SHARE = 0.02;

/** The host set it at `at − lag`, the device reached it at `at`. ns. */
interface Mark {
  readonly at: number;
  readonly lag: number;
}

/**
 * Between two marks the device took T and the host H, so the lag grew by T − H. All work between them was queued when the
 * host set the second mark, so the device had no reason to idle during the last `lag` ns before it reached it. Before that
 * the host was still launching. A device that computes longer than the host launches falls behind; one that does not has
 * caught up at the end. So the host set the pace where no lag is left, and the device where some is. How long the device
 * was busy in the host's time is unknown: at most all of it can be won back. A wait for the device at the end of a phase
 * (`.item()`) also leaves no lag.
 *
 * `step`: ns. Null: the log has no lags.
 */
export function findPacedSpans(steps: readonly RecordedStep[], step: number): PacedSpans | null {
  const marks = marksOf(steps);
  if (marks.length < 2) return null;
  const caughtUp = Math.max(CAUGHT_UP_NS, CAUGHT_UP_SHARE * step);
  const host = new SpanUnion();
  const all = new SpanUnion();
  for (let i = 1; i < marks.length; i++) {
    const [from, { at, lag }] = [marks[i - 1]!.at, marks[i]!];
    all.add(from, at);
    if (lag <= caughtUp) host.add(from, at - Math.max(0, lag));
  }
  const byHost = host.finish();
  return { byHost, byDevice: subtract(all.finish(), byHost) };
}

/** Both ends of every record that has a lag, in the device's order. */
function marksOf(steps: readonly RecordedStep[]): Mark[] {
  return steps
    .flatMap(({ parts }) => [...parts.values()].flat())
    .filter(({ start, hostNs, lag }) => !Number.isNaN(start + hostNs + lag))
    .flatMap(({ start, ns, hostNs, lag }) => [
      { at: start, lag: lag - ns + hostNs },
      { at: start + ns, lag },
    ])
    .sort((a, b) => a.at - b.at);
}
