import { type Ns, ns } from '../../base/units.js';
import type { CompileSpan } from '../../model/compile-log.js';

/** A begin or end that torch.compile logs in the form of Chrome traces. */
export interface ClockEvent {
  readonly name: string;
  readonly begins: boolean;
  readonly at: Ns;
}

/** Lines of the event's JSON, one key each, that `clockEvent` needs: the rest has megabytes of settings. */
export const CLOCK_LINES = /^(?:\{.*\}$|"(?:name|ts|ph)": ?)/;

/** Null: an instant, or no event at all. */
export function clockEvent(lines: readonly string[]): ClockEvent | null {
  const fields = new Map<string, string>();
  for (const line of lines) {
    const keyed = FIELD.exec(line);
    // The phase comes after the arguments, which may have any key; name and time come before them.
    if (keyed && (keyed[1] === 'ph' || !fields.has(keyed[1]!))) fields.set(keyed[1]!, keyed[2]!);
  }
  const phase = fields.get('ph');
  const at = Number(fields.get('ts')) * 1000;
  const name = fields.get('name');
  if (!name || (phase !== 'B' && phase !== 'E') || !isTime(at)) return null;
  return { name, begins: phase === 'B', at: ns(at) };
}

const FIELD = /^"(name|ts|ph)": ?"?([^",]{1,200})/;

/** Between 2001 and 2128: anything else was not a clock, or is damaged. */
export const isTime = (at: number): boolean => at > 1e18 && at < 5e18;

/** More levels than torch nests. */
const MAX_DEPTH = 256;

/** Finds the outermost spans: all others are inside them and would be counted twice. */
export class CompileClock<Owner> {
  readonly #open: string[] = [];
  #since = ns(0);
  #owner: Owner | null = null;
  first: Ns | null = null;
  last: Ns | null = null;

  /** `owner` is asked when a span begins, and again as long as it does not know. */
  take(
    event: ClockEvent,
    owner: () => Owner | null,
  ): { readonly owner: Owner; readonly span: CompileSpan } | null {
    this.seen(event.at);
    if (event.begins) {
      if (this.#open.length === 0) this.#since = event.at;
      if (this.#open.length === 0 || this.#owner === null) this.#owner = owner();
      if (this.#open.length < MAX_DEPTH) this.#open.push(event.name);
      return null;
    }
    // An error leaves spans open inside of the one that ends.
    const at = this.#open.lastIndexOf(event.name);
    if (at < 0) return null;
    this.#open.length = at;
    return at === 0 ? this.#close(event.at) : null;
  }

  /** A span that is still open: the log ends while the job compiles. */
  finish(): { readonly owner: Owner; readonly span: CompileSpan } | null {
    const isOpen = this.#open.length > 0;
    this.#open.length = 0;
    return isOpen && this.last !== null ? this.#close(this.last) : null;
  }

  seen(at: Ns): void {
    this.first = this.first === null || at < this.first ? at : this.first;
    this.last = this.last === null || at > this.last ? at : this.last;
  }

  #close(end: Ns) {
    const owner = this.#owner;
    this.#owner = null;
    return owner !== null && end > this.#since ? { owner, span: { start: this.#since, end } } : null;
  }
}
