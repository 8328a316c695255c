import { appendFile, mkdir, readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { median } from '../base/statistics.js';
import type { SpeedupInterval } from '../compare/step-times/step-comparison.js';
import type { Environment } from '../launch/environment.js';
import { jsonObject } from '../launch/small-file.js';
import type { TryReport } from './trials.js';

/** A prediction and what came of it. Kept in the user's own folder; nothing leaves the machine. */
export interface MeasuredPair {
  readonly at: string;
  readonly fix: string;
  readonly rule: string | null;
  readonly predicted: SpeedupInterval;
  readonly measured: SpeedupInterval;
  readonly device: string | null;
  readonly torch: string | null;
  readonly whyslow: string;
}

export function historyFile(env: Environment): string {
  return join(env.XDG_STATE_HOME || join(homedir(), '.local/state'), 'whyslow', 'tries.jsonl');
}

export function pairsOf(report: TryReport, version: string): readonly MeasuredPair[] {
  return report.trials.flatMap(({ fix, rule, predicted, measured: best, advised, searched }) => {
    // A prediction is for the number that the finding advises, not for the best one.
    const measured = searched.find(({ value }) => value === advised)?.measured ?? best;
    return predicted && measured
      ? [
          {
            at: report.started,
            fix,
            rule,
            predicted,
            measured,
            device: report.device,
            torch: report.torch,
            whyslow: version,
          },
        ]
      : [];
  });
}

export async function appendPairs(file: string, pairs: readonly MeasuredPair[]): Promise<void> {
  if (pairs.length === 0) return;
  await mkdir(dirname(file), { recursive: true });
  await appendFile(file, pairs.map((pair) => `${JSON.stringify(pair)}\n`).join(''));
}

/** Lines that are no pairs are skipped: the file may be of another version, or cut off. */
export async function readPairs(file: string): Promise<readonly MeasuredPair[]> {
  const text = await readFile(file, 'utf8').catch(() => '');
  return text.split('\n').flatMap((line) => {
    const pair = jsonObject(line);
    return pair && isInterval(pair.predicted) && isInterval(pair.measured)
      ? [pair as unknown as MeasuredPair]
      : [];
  });
}

function isInterval(value: unknown): value is SpeedupInterval {
  if (typeof value !== 'object' || value === null) return false;
  const { low, likely, high } = value as Record<string, unknown>;
  return [low, likely, high].every((v) => typeof v === 'number' && v > 0);
}

export interface TrackRecord {
  readonly pairs: number;
  /** Predicted and measured intervals that overlap. */
  readonly right: number;
  /** Median of |measured / predicted − 1|. */
  readonly error: number;
}

export function trackRecord(pairs: readonly MeasuredPair[]): TrackRecord | null {
  if (pairs.length === 0) return null;
  const right = pairs.filter(
    (p) => p.measured.low <= p.predicted.high && p.predicted.low <= p.measured.high,
  ).length;
  const errors = pairs.map((p) => Math.abs(p.measured.likely / p.predicted.likely - 1));
  return { pairs: pairs.length, right, error: median(errors) };
}
