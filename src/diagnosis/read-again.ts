import type { StepRange } from '../facts/step-facts.js';
import { traceFactsOf } from '../ingest/member.js';
import type { RunInputs } from '../ingest/read-run.js';
import { compareRanks } from '../run/compare.js';
import { comparedRank, locateRanks } from './ranks/locations.js';
import { viewsOf } from './ranks/views.js';

/** Reads files again with all details. Given by the caller: a diagnosis does not read files. */
export type ReadInFull = (files: readonly string[]) => Promise<RunInputs>;

const MOST_IN_FULL = 4;
const MOST_OF_ONE_CAUSE = 2;

/** Of many ranks only some are read with all details. The late ones must be: their own findings say why they are late. */
export async function withLateRanksInFull(
  run: RunInputs,
  steps: StepRange | null,
  readInFull: ReadInFull,
): Promise<RunInputs> {
  const light = run.members.filter((m) => traceFactsOf(m.member)?.light);
  if (light.length === 0) return run;
  const locations = locateRanks(run);
  const comparison = compareRanks(viewsOf(run.members, steps).map((view) => comparedRank(view, locations)));
  const late = (comparison?.late ?? []).flatMap((l) => l.ranks.slice(0, MOST_OF_ONE_CAUSE));
  const wanted = new Set(late.slice(0, MOST_IN_FULL));
  const files = [...new Set(light.filter((m) => wanted.has(m.rank)).map((m) => m.member.file))];
  if (files.length === 0) return run;
  const inFull = await readInFull(files);
  const byPath = new Map(inFull.members.map((m) => [m.member.path, m.member]));
  return {
    ...run,
    members: run.members.map((m) => ({ ...m, member: byPath.get(m.member.path) ?? m.member })),
  };
}
