import type { StepRange } from '../facts/step-facts.js';
import { traceFactsOf } from '../ingest/member.js';
import type { RunInputs } from '../ingest/read-run.js';
import { compareViews } from './ranks/compare-views.js';
import { locateRanks } from './ranks/locations.js';
import { viewsOf } from './ranks/views.js';

/** Reads files again with all details. The caller provides it, because diagnosis does not open files. */
export type ReadInFull = (files: readonly string[]) => Promise<RunInputs>;

const MAX_RANKS = 4;
const MAX_RANKS_PER_CAUSE = 2;

/**
 * In a large run most ranks are read without details (`TraceFacts.light`). Late ranks are read again in full, because their
 * own findings say why they are late.
 */
export async function withLateRanksInFull(
  run: RunInputs,
  steps: StepRange | null,
  readInFull: ReadInFull,
): Promise<RunInputs> {
  const light = run.members.filter((m) => traceFactsOf(m.member)?.light);
  if (light.length === 0) return run;
  const { comparison } = compareViews(viewsOf(run.members, steps), locateRanks(run));
  const late = (comparison?.late ?? []).flatMap((l) => l.ranks.slice(0, MAX_RANKS_PER_CAUSE));
  const wanted = new Set(late.slice(0, MAX_RANKS));
  const files = new Set(light.filter((m) => wanted.has(m.rank)).map((m) => m.member.file));
  if (files.size === 0) return run;
  const inFull = await readInFull([...files]);
  const byPath = new Map(inFull.members.map((m) => [m.member.path, m.member]));
  return {
    ...run,
    members: run.members.map((m) => ({ ...m, member: byPath.get(m.member.path) ?? m.member })),
  };
}
