import { mean } from '../../base/statistics.js';
import { ms } from '../../base/units.js';
import { numberOf, objectOf, profileOfReport, textOf } from '../report-profile.js';
import { NO_SETUP, type RunProfile, type Setup, stepsOfRun } from '../run-profile.js';
import type { StepVerdict } from '../step-times/step-comparison.js';

const SCHEMA = 'whyslow/history/1';
/** A line stays small; how a run varies over its steps is still seen. */
const MAX_TIMES = 50;

/** One run of a history, one line of the file. */
export interface HistoryEntry {
  /** ISO 8601; empty: unknown. */
  readonly time: string;
  readonly label: string;
  /** It was not slower than the runs before it, or somebody accepted it: later runs are compared with it. */
  readonly good: boolean;
  readonly profile: RunProfile;
}

/** The line to append. `verdict` null: the first run. */
export function lineOf(
  profile: RunProfile,
  { time, verdict, accepted }: { time: string; verdict: StepVerdict | null; accepted: boolean },
): string {
  const { step, time: shares, verdict: found, findings, ranks } = profile.report;
  const report = {
    schema: 'whyslow/report/1',
    verdict: {
      bottleneck: found.bottleneck,
      cause: found.cause,
      label: found.label,
      headline: found.headline,
      details: found.details,
      sentence: found.sentence,
    },
    step: { ...step, times_ms: grouped(stepsOfRun(profile)) },
    time: shares,
    findings: findings.map(({ id, rule, title, speedup, saving_ms }) => ({
      id,
      rule,
      title,
      speedup,
      saving_ms,
    })),
    ranks: ranks.map(({ rank, step_ms }) => ({ rank, step_ms })),
  };
  const { device, torch, worldSize, batchSize, command } = profile.setup;
  const setup = { device, torch, world_size: worldSize, batch_size: batchSize, command };
  const good = accepted || verdict !== 'slower';
  return `${JSON.stringify({ schema: SCHEMA, time, label: profile.label, verdict, good, setup, report })}\n`;
}

function grouped(times: readonly number[]): number[] {
  const size = Math.ceil(times.length / MAX_TIMES);
  return Array.from({ length: Math.floor(times.length / size) }, (_, g) =>
    ms(Number(mean(times.slice(g * size, (g + 1) * size)).toPrecision(6))),
  );
}

/** The runs of a history file, oldest first. Lines that are no entry are counted. */
export function entriesOf(text: string): { readonly entries: HistoryEntry[]; readonly broken: number } {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const entries = lines.flatMap((line) => entryOf(line) ?? []);
  return { entries, broken: lines.length - entries.length };
}

function entryOf(line: string): HistoryEntry | null {
  const entry = parsed(line);
  if (entry.schema !== SCHEMA) return null;
  const label = textOf(entry.label);
  const profile = profileOfReport(label, entry.report, setupOf(objectOf(entry.setup)));
  if (!profile || stepsOfRun(profile).length === 0) return null;
  return { time: textOf(entry.time), label, good: entry.good === true, profile };
}

function parsed(line: string) {
  try {
    return objectOf(JSON.parse(line));
  } catch {
    return {};
  }
}

function setupOf(setup: ReturnType<typeof objectOf>): Setup {
  return {
    ...NO_SETUP,
    device: textOf(setup.device) || null,
    torch: textOf(setup.torch) || null,
    worldSize: numberOf(setup.world_size),
    batchSize: numberOf(setup.batch_size),
    command: textOf(setup.command) || null,
  };
}
