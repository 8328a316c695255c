import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { readJson } from '../launch/small-file.js';
import { frameworkNamed } from '../remedies/frameworks.js';

/** What one rank has measured in a turn (python: trials/result.py). */
export interface RankResult {
  readonly rank: number;
  readonly worldSize: number;
  /** Why it ended: the steps were done, time was up, or the job ended by itself. */
  readonly why: 'steps' | 'seconds' | 'end';
  readonly stepMs: readonly number[];
  /** Of all steps, the warm-up included. A text is a loss that is not finite. */
  readonly losses: readonly (number | string | null)[];
  readonly firstStepS: number;
  readonly memoryMb: number | null;
  /** Whose loop made the steps, by its id in `remedies/frameworks`. */
  readonly framework: string;
  readonly device: string | null;
  readonly torch: string;
  /** By fix: what it has changed. */
  readonly applied: Readonly<Record<string, readonly string[]>>;
  /** By fix: why it has changed nothing. */
  readonly refused: Readonly<Record<string, string>>;
  /** By fix: `/path/train.py:12`, the lines of the job's code that it changed the effect of. */
  readonly places: Readonly<Record<string, readonly string[]>>;
  /** By fix: the number that the job itself uses, or what the machine has. */
  readonly had: Readonly<Record<string, number>>;
  /** By fix: larger numbers cannot gain anything. */
  readonly most: Readonly<Record<string, number>>;
  /** Hosts that the job looked up or connected to, beyond this machine. */
  readonly reached: readonly string[];
  /** Writes that Landlock denied. */
  readonly denied: readonly string[];
  readonly seededByJob: boolean;
  readonly graphBreaks: Readonly<Record<string, number>>;
}

export const RESULT_NAME = /^rank_\d+\.json$/;

/** Sorted by rank. Incomplete files are left out. */
export async function readResults(folder: string): Promise<readonly RankResult[]> {
  const names = (await readdir(folder).catch(() => [])).filter((name) => RESULT_NAME.test(name));
  const read = await Promise.all(names.map((name) => readJson(join(folder, name))));
  return read.flatMap((object) => (object ? [resultOf(object)] : [])).sort((a, b) => a.rank - b.rank);
}

/** Our own process wrote it, but the job shares that process. */
function resultOf(given: Record<string, unknown>): RankResult {
  const { why, framework } = given;
  return {
    rank: Number(given.rank) || 0,
    worldSize: Number(given.world_size) || 1,
    why: why === 'steps' || why === 'seconds' ? why : 'end',
    stepMs: list(given.step_ms).filter(
      (v): v is number => typeof v === 'number' && Number.isFinite(v) && v > 0,
    ),
    losses: list(given.losses).map((v) => (typeof v === 'number' || typeof v === 'string' ? v : null)),
    firstStepS: Number(given.first_step_s) || 0,
    memoryMb: typeof given.memory_mb === 'number' ? given.memory_mb : null,
    framework: typeof framework === 'string' ? frameworkNamed(framework).id : 'plain',
    device: nameOf(given.device),
    torch: String(given.torch ?? ''),
    applied: Object.fromEntries(entries(given.applied).map(([fix, what]) => [fix, list(what).map(String)])),
    refused: Object.fromEntries(entries(given.refused).map(([fix, why]) => [fix, String(why)])),
    places: Object.fromEntries(entries(given.places).map(([fix, where]) => [fix, list(where).map(String)])),
    had: numbersIn(given.had),
    most: numbersIn(given.most),
    reached: Object.keys(given.reached ?? {}),
    denied: Object.keys(given.denied ?? {}),
    seededByJob: given.seeded_by_job === true,
    graphBreaks: Object.fromEntries(entries(given.graph_breaks).map(([why, n]) => [why, Number(n) || 0])),
  };
}

/** The number that a fix used: texts of applied fixes end in it, as `num_workers 0 → 12`. Null: it has none. */
export function numberUsed({ applied }: Pick<RankResult, 'applied'>, fix: string): number | null {
  const used = applied[fix]?.map((text) => /→ (\d+)/.exec(text)?.[1]).find((number) => number !== undefined);
  return used === undefined ? null : Number(used);
}

const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const entries = (value: unknown): [string, unknown][] =>
  typeof value === 'object' && value !== null ? Object.entries(value) : [];
const numbersIn = (value: unknown) =>
  Object.fromEntries(entries(value).map(([fix, n]) => [fix, Number(n) || 0]));
const nameOf = (device: unknown): string | null => {
  const found = entries(device).find(([key]) => key === 'name');
  return found ? String(found[1]) : null;
};
