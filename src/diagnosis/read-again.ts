import type { StepRange } from '../facts/step-facts.js';
import { traceFactsOf } from '../ingest/input.js';
import type { RunInputs } from '../ingest/read-run.js';
import { type ComparedViews, compareViews } from './ranks/compare-views.js';
import { locateRanks } from './ranks/locations.js';
import { viewsOf } from './ranks/views.js';

/** Reads files again with all details. The caller provides it, because diagnosis does not open files. */
export type ReadInFull = (files: readonly string[]) => Promise<RunInputs>;

const MAX_RANKS = 4;
const MAX_RANKS_PER_CAUSE = 2;

/** Inputs with the details that rules need. */
export interface InFull {
  readonly inputs: RunInputs;
  /** Of all ranks, where reading again changes nothing about it. Null: not known. */
  readonly compared: ComparedViews | null;
}

/**
 * In a large run most ranks are read without details (`TraceFacts.light`). Late ranks are read again in full, because their
 * own findings say why they are late. If only a few ranks were read, all are read again.
 */
export async function withLateRanksInFull(
  run: RunInputs,
  steps: StepRange | null,
  readInFull: ReadInFull,
): Promise<InFull> {
  const light = run.members.filter((m) => traceFactsOf(m)?.light);
  if (light.length === 0) return { inputs: run, compared: null };
  const views = viewsOf(run.members, steps);
  const all = compareViews(views, locateRanks(run));
  // Light facts have all that is compared. Only what a log is used for may change with the details.
  const compared = views.some((v) => v.source === 'log' || v.log) ? null : all;
  const late = (all.comparison?.late ?? []).flatMap((l) => l.ranks.slice(0, MAX_RANKS_PER_CAUSE));
  const wanted = new Set(late.slice(0, MAX_RANKS));
  // Of many traces few are left where the others were of other runs or windows.
  const again = light.length <= MAX_RANKS ? light : light.filter((m) => wanted.has(m.rank));
  const files = new Set(again.map((m) => m.file));
  if (files.size === 0) return { inputs: run, compared };
  const inFull = await readInFull([...files]);
  const byPath = new Map(inFull.members.map((m) => [m.path, m]));
  const members = run.members.map((m) => {
    const { rank, rankSource, hasEarlierWindow } = m;
    return { ...(byPath.get(m.path) ?? m), rank, rankSource, hasEarlierWindow };
  });
  return { inputs: { ...run, members }, compared };
}
