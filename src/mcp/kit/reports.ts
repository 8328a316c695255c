import { createHash } from 'node:crypto';
import { InputError } from '../../base/input-error.js';
import type { Report } from '../../library/vocabulary.js';

/** Reports are megabytes at most, and a conversation is about a few runs. */
const MOST = 8;

/** The last reports, by an id that the same question always gets. */
export class Reports {
  readonly #kept = new Map<string, Report>();

  /** Keeps a report. `asked`: what it answers. */
  keep(asked: object, report: Report): string {
    const id = `r-${createHash('sha256').update(JSON.stringify(asked)).digest('hex').slice(0, 8)}`;
    this.#kept.delete(id);
    this.#kept.set(id, report);
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= MOST) break;
      this.#kept.delete(oldest);
    }
    return id;
  }

  get(id: string): Report {
    const report = this.#kept.get(id);
    if (!report) throw new InputError(`there is no report ${id} in memory any more: call diagnose again`);
    return report;
  }

  get ids(): readonly string[] {
    return [...this.#kept.keys()];
  }
}
