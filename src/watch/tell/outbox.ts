import type { Incident } from '../../model/incident.js';

/** At most so many in an hour, whatever happens: a person reads them. */
const MOST_PER_HOUR = 20;
/** Waiting to be sent. More are dropped: the receiver is away. */
const MOST_WAITING = 16;
const HOUR_MS = 3_600_000;

/**
 * Sends each incident once, one after the other, without anybody waiting for it. `send` never throws; false: try again.
 * Times are of a clock that never jumps.
 */
export class Outbox {
  readonly #send: (incident: Incident) => Promise<boolean>;
  readonly #pauses: readonly number[];
  readonly #told = new Set<string>();
  readonly #waiting: Incident[] = [];
  #sent: number[] = [];
  #sending: Promise<void> = Promise.resolve();
  #isBusy = false;
  #isClosed = false;
  /** How many were not sent. */
  lost = 0;

  /** `pauses`: before each further try, ms. */
  constructor(
    send: (incident: Incident) => Promise<boolean>,
    pauses: readonly number[] = [2000, 15_000, 60_000],
  ) {
    this.#send = send;
    this.#pauses = pauses;
  }

  /** Only alarms that go on are sent, and each once: what becomes of it is in incidents.jsonl. */
  add(incident: Incident): void {
    const key = `${incident.run} ${incident.id}`;
    if (!incident.alarm || incident.state !== 'open' || this.#told.has(key)) return;
    this.#told.add(key);
    if (this.#waiting.length >= MOST_WAITING || !this.#mayTell()) {
      this.lost++;
      return;
    }
    this.#waiting.push(incident);
    if (!this.#isBusy) this.#sending = this.#work();
  }

  #mayTell(): boolean {
    const now = performance.now();
    this.#sent = this.#sent.filter((at) => now - at < HOUR_MS);
    if (this.#sent.length >= MOST_PER_HOUR) return false;
    this.#sent.push(now);
    return true;
  }

  async #work(): Promise<void> {
    this.#isBusy = true;
    for (let incident = this.#waiting.shift(); incident; incident = this.#waiting.shift()) {
      let isSent = await this.#send(incident);
      for (const pause of this.#pauses) {
        if (isSent || this.#isClosed) break;
        await new Promise((resolve) => setTimeout(resolve, pause).unref());
        if (!this.#isClosed) isSent = await this.#send(incident);
      }
      if (!isSent) this.lost++;
    }
    this.#isBusy = false;
  }

  /** Gives what is under way a moment. */
  async close(ms: number): Promise<void> {
    const late = new Promise<void>((resolve) => setTimeout(resolve, ms).unref());
    await Promise.race([this.#sending, late]);
    this.#isClosed = true;
  }
}
