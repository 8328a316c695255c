import { type LogView, viewLog } from '../../src/diagnosis/ranks/rank-view.js';
import { logFactsOf } from '../../src/logs/log-facts.js';
import { analyzeOne, steps } from './logs.js';

/** Phases of the header: `[ms, count]`, over all of the job unless it says otherwise. */
export type DrawnPhases = Readonly<
  Record<string, { ms: number; count: number; first?: number; last?: number }>
>;

export interface DrawnJob {
  readonly phases?: DrawnPhases;
  readonly startUpMs?: number;
  /** The part of it in which torch.compile worked. */
  readonly compiledFirstMs?: number;
  /** From the last step to the end. */
  readonly endMs?: number;
  /** Phases of a step that takes 10 ms and starts at `at`, as `stepLines` takes them. */
  readonly step?: (at: number) => readonly string[];
}

const STEPS = 100;
const STEP_MS = 10;

const computing = (at: number) => [`forward 4 +${at} host`, `backward 5 +${at + 4} host`];

/** The log of a job of 100 training steps of 10 ms, with phases spread evenly over them. */
export function jobLog({
  phases = {},
  startUpMs = 0,
  compiledFirstMs = 0,
  endMs = 0,
  step = computing,
}: DrawnJob): string[] {
  const outside = Object.values(phases).reduce((sum, p) => sum + p.ms, 0);
  const job = {
    start_ms: -startUpMs,
    compiled_first_ms: compiledFirstMs,
    last_step_ms: STEPS * STEP_MS + outside,
    end_ms: STEPS * STEP_MS + outside + endMs,
    tail_ms: 0,
    steps: STEPS,
    phases: Object.fromEntries(
      Object.entries(phases).map(([name, { ms, count, first = 0, last = STEPS }]) => [
        name,
        {
          ms,
          count,
          longest_ms: ms / count,
          first_step: first,
          last_step: last,
          call: `${name}()`,
          line: 'train.py:7 in main',
        },
      ]),
    ),
  };
  const totals = (n: number) =>
    Object.entries(phases).map(([name, p]) => [name, (p.ms * n) / STEPS] as const);
  const lines = steps(
    0,
    STEPS - 1,
    (n) => {
      const at = n * STEP_MS + totals(n).reduce((sum, [, ms]) => sum + ms, 0);
      return [...step(at), `training_step ${STEP_MS} +${at} host`];
    },
    10,
  ).map((line) => {
    const record = JSON.parse(line) as { name: string; step: number };
    if (record.name !== 'training_step' || outside === 0) return line;
    return JSON.stringify({ ...record, outside_ms: Object.fromEntries(totals(record.step)) });
  });
  return [JSON.stringify({ whyslow: 1, run: 'a', rank: 0, job }), ...lines];
}

/** The same as rules see it. */
export function jobView(drawn: DrawnJob): LogView {
  const facts = analyzeOne(jobLog(drawn));
  return viewLog(0, logFactsOf(facts, null), facts);
}
