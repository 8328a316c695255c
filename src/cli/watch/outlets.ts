import { describeSystemError, InputError } from '../../base/input-error.js';
import { type Metrics, metricsFile } from '../../watch/tell/metrics-file.js';
import { metricsText } from '../../watch/tell/metrics-text.js';
import { Outbox } from '../../watch/tell/outbox.js';
import { command, tracker, webhook } from '../../watch/tell/receivers.js';
import type { Incident, WatchedRun } from '../../watch/watched-run.js';
import { isTracker, type WatchFlags } from './watch-flags.js';

/** What is under way when the watch ends gets so long, ms. */
const LAST_MS = 5000;

/** Receivers of incidents, and the metrics. None of it can fail or hold up the watch. */
export class Outlets {
  readonly #metrics: Metrics | null;
  readonly #boxes: readonly Outbox[];

  private constructor(metrics: Metrics | null, boxes: readonly Outbox[]) {
    this.#metrics = metrics;
    this.#boxes = boxes;
  }

  /** Throws InputError when the port is taken. */
  static async open(out: string, { metrics, notify, onIncident }: WatchFlags): Promise<Outlets> {
    const opened = metrics === undefined ? null : await metricsTo(metrics);
    return new Outlets(opened, [
      ...(notify ?? []).map(
        (where) => new Outbox(isTracker(where) ? tracker(where, out) : webhook(where, out)),
      ),
      ...(onIncident === undefined ? [] : [new Outbox(command(onIncident, out))]),
    ]);
  }

  incident(incident: Incident): void {
    for (const box of this.#boxes) box.add(incident);
  }

  state(run: WatchedRun): void {
    this.#metrics?.update(metricsText(run));
  }

  async close(): Promise<void> {
    await Promise.all([...this.#boxes.map((box) => box.close(LAST_MS)), this.#metrics?.close()]);
  }
}

/** A number is a port. */
async function metricsTo(target: string): Promise<Metrics> {
  if (!/^\d+$/.test(target)) return metricsFile(target);
  const { serveMetrics } = await import('../../server/serve-metrics.js');
  return serveMetrics(Number(target)).catch((error: unknown) => {
    throw new InputError(`cannot listen on port ${target}: ${describeSystemError(error)}`);
  });
}
