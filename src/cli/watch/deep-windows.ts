import { randomBytes } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { namedRanks } from '../../base/rank-ranges.js';
import { smallest } from '../../base/statistics.js';
import { formatTime, ms } from '../../base/units.js';
import { readRanks } from '../../launch/job.js';
import { awaitAnswers, Conversation } from '../../launch/on-demand.js';
import { windowCost } from '../../launch/window-cost.js';
import { CLASS_NAMES } from '../../render/step-time.js';
import type { Incident } from '../../watch/watched-run.js';

/** Windows in a day, for the whole job. */
const MOST_PER_DAY = 4;
const DAY_MS = 86_400_000;
const STEPS = 3;
const WAIT_SECONDS = 600;
/** What a window costs that was not yet measured, s: starting the profiler, and steps that take longer. */
const USUAL_COST = 3;
/** Parts of the step that are named. */
const MOST_PARTS = 3;

export interface Recorded {
  readonly id: string;
  readonly evidence: readonly string[];
  readonly traces: readonly string[];
}

/** Records one profiler window when something changes: on a rank that changed and on one that did not. Never fails. */
export class DeepWindows {
  readonly #out: string;
  readonly #maxOverhead: number;
  readonly #onRecorded: (recorded: Recorded) => void;
  #asked: number[] = [];
  #working: Promise<void> | null = null;

  /** `maxOverhead`: of the time since the job began, for all windows together. */
  constructor(out: string, maxOverhead: number, onRecorded: (recorded: Recorded) => void) {
    this.#out = out;
    this.#maxOverhead = maxOverhead;
    this.#onRecorded = onRecorded;
  }

  /** `ranks`: all of the job. */
  incident(incident: Incident, ranks: readonly number[]): void {
    const isWorthIt = incident.alarm && incident.state === 'open' && WORTH.has(incident.kind);
    if (!isWorthIt || this.#working || incident.traces.length > 0 || !this.#mayAsk()) return;
    this.#working = this.#record(incident, ranks)
      .catch(() => {})
      .finally(() => {
        this.#working = null;
      });
  }

  #mayAsk(): boolean {
    const now = performance.now();
    this.#asked = this.#asked.filter((at) => now - at < DAY_MS);
    return this.#asked.length < MOST_PER_DAY;
  }

  async #record(incident: Incident, all: readonly number[]): Promise<void> {
    if (!(await this.#isWithinBudget(incident))) return;
    this.#asked.push(performance.now());
    const changed = incident.ranks[0] ?? all[0] ?? 0;
    const other = all.find((rank) => !incident.ranks.includes(rank) && rank !== changed);
    const ranks = [changed, ...(other === undefined ? [] : [other])].sort((a, b) => a - b);
    const before = await traceBefore(this.#out, changed, incident.step);
    const id = randomBytes(6).toString('hex');
    const conversation = new Conversation(this.#out, { id, steps: STEPS, ranks, waitSeconds: WAIT_SECONDS });
    await conversation.ask();
    const outcome = await awaitAnswers(this.#out, conversation, WAIT_SECONDS, () => {}).finally(() =>
      conversation.withdraw(),
    );
    if (outcome.gaveUp === null) await conversation.end(outcome.expected);
    const traces = new Map(outcome.answers.flatMap((a) => (a.path ? [[a.rank, a.path] as const] : [])));
    const after = traces.get(changed);
    if (after === undefined) return;
    const beside = other === undefined ? undefined : traces.get(other);
    const evidence = before
      ? await compared(
          before,
          after,
          `a profiler window of ${namedRanks([changed])} now against the one from before`,
        )
      : beside
        ? await compared(
            beside,
            after,
            `profiler windows now: ${namedRanks([changed])} against rank ${other}`,
          )
        : [];
    this.#onRecorded({
      id: incident.id,
      evidence,
      traces: [...(before ? [before] : []), ...traces.values()].map((path) => relative(this.#out, path)),
    });
  }

  /** What was spent, and one window more, must stay within the limit that the job was started with. */
  async #isWithinBudget({ after_ms: stepMs, detected_time }: Incident): Promise<boolean> {
    const cost = await windowCost(this.#out, { ms: ms(stepMs), profiled_ms: ms(2 * stepMs) });
    if (cost === null) {
      const begun = await readRanks(this.#out);
      const since = smallest(begun.map((r) => r.startedMs).filter((t) => Number.isFinite(t)));
      // By the job's own clock: that of this machine may have jumped, or be another one.
      const now = Date.parse(detected_time ?? '');
      return USUAL_COST <= (this.#maxOverhead * (now - since)) / 1000;
    }
    return cost.spent + Math.max(USUAL_COST, cost.spent) <= this.#maxOverhead * cost.of;
  }
}

/** Those that a profiler can explain. */
const WORTH: ReadonlySet<Incident['kind']> = new Set(['slower', 'growing', 'behind']);

/** The last window of a rank that ended before a step. Null: there is none. */
async function traceBefore(out: string, rank: number, step: number): Promise<string | null> {
  const folder = join(out, 'traces');
  const names = await readdir(folder).catch(() => []);
  const steps = names
    .flatMap((name) => /^step_(\d{1,15})$/.exec(name)?.[1] ?? [])
    .map(Number)
    .filter((n) => n < step)
    .sort((a, b) => b - a);
  for (const n of steps.slice(0, 100)) {
    const files = await readdir(join(folder, `step_${n}`)).catch(() => []);
    const found = files.find(
      (name) => name.startsWith(`rank-${rank}-`) && /trace\.(?:json|json\.gz|tar\.gz)$/.test(name),
    );
    if (found) return join(folder, `step_${n}`, found);
  }
  return null;
}

/** Which parts of the step differ most between two windows. Empty: none, or a window that cannot be read. */
async function compared(before: string, after: string, what: string): Promise<readonly string[]> {
  const { compare } = await import('../../library/compare.js');
  const report = await compare([before], [after], { jobs: 1 }).catch(() => null);
  const grown = (report?.time ?? [])
    .map((t) => ({ name: CLASS_NAMES[t.class], before: t.before_ms, after: t.after_ms }))
    .filter((t) => t.after > t.before)
    .sort((a, b) => b.after - b.before - (a.after - a.before))
    .slice(0, MOST_PARTS)
    .map((t) => `${t.name} ${formatTime(ms(t.before))} → ${formatTime(ms(t.after))}`);
  return grown.length > 0 ? [`${what}, per step: ${grown.join(', ')}`] : [];
}
