import { TIME_CLASSES } from '../../src/facts/time-class.js';
import { analyzeEventLog, type EventFacts } from '../../src/logs/event-facts.js';
import type { EventLog } from '../../src/model/event-log.js';
import { eventsReader } from '../../src/readers/events/descriptor.js';

/** For the tests of this folder: logs as text, read by the same reader as users' files. */
export function readLog(text: string): EventLog {
  const reader = eventsReader.create({});
  reader.push(Buffer.from(text));
  const result = reader.finish();
  return result.log;
}

export const HEADER = '{"whyslow": 1, "run": "a", "rank": 0}';

/**
 * Records of one step as text: `name ms`, then `+start`, `#micro`, `gpu` or `host`, `r<rank>`, `!attached` or `!recording`
 * for what a profiler did, and for device timings `^lag` at the start and `~lag` at the end, from which `host_ms` follows.
 */
export function stepLines(step: number, ...phases: string[]): string[] {
  return phases.map((phase) => {
    const [name, duration, ...more] = phase.split(' ');
    const record: Record<string, unknown> = { name, step, rank: 0, duration_ms: Number(duration) };
    for (const field of more) {
      if (field[0] === '+') record.start_ms = Number(field.slice(1));
      else if (field[0] === '#') record.micro = Number(field.slice(1));
      else if (field[0] === 'r') record.rank = Number(field.slice(1));
      else if (field[0] === '!') record.profiler = field.slice(1);
      else if (field[0] === '~') record.lag_ms = Number(field.slice(1));
      else if (field[0] === '^') record.host_ms = Number(duration) + Number(field.slice(1));
      else record.clock = field;
    }
    if ('host_ms' in record) record.host_ms = Number(record.host_ms) - Number(record.lag_ms);
    return JSON.stringify(record);
  });
}

/** Lines of every `by`-th step from `from` to `to`. */
export function steps(
  from: number,
  to: number,
  phases: (step: number) => readonly string[],
  by = 1,
): string[] {
  const lines: string[] = [];
  for (let step = from; step <= to; step += by) lines.push(...stepLines(step, ...phases(step)));
  return lines;
}

export function analyze(...lines: readonly (string | readonly string[])[]): EventFacts[] {
  return analyzeEventLog(readLog(`${lines.flat().join('\n')}\n`));
}

export function analyzeOne(...lines: readonly (string | readonly string[])[]): EventFacts {
  const all = analyze(...lines);
  if (all.length !== 1) throw new Error(`${all.length} facts instead of one`);
  return all[0]!;
}

/** The notes, one line each. */
export const noted = (facts: EventFacts) =>
  facts.notes.map((n) => `${n.count > 1 ? `${n.count} × ` : ''}${n.message} → ${n.consequence}`).join('\n');

/** Classes that are not zero, in ms. */
export function msByClass({ time }: EventFacts): Record<string, number> {
  const shown = TIME_CLASSES.map((c) => [c, Math.round(time[c] / 1e3) / 1e3] as const);
  return Object.fromEntries(shown.filter(([, ms]) => ms !== 0));
}

export const ms = (ns: number): number => Math.round(ns / 1e3) / 1e3;
