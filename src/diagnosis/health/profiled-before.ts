import { type CheckResult, found } from '../../base/check.js';
import { formatWholePercent, share } from '../../base/units.js';
import { traceSummaryOf } from '../../ingest/input.js';
import type { RankedInput } from '../../ingest/ranks.js';
import type { RunInputs } from '../../ingest/read-run.js';
import type { RankManifest } from '../../model/manifest.js';
import { manifestsOf } from '../ranks/locations.js';

interface RankNotes {
  readonly rank: number;
  readonly problems: readonly CheckResult[];
}

/** What earlier profiler windows did to the processes that the files come from. */
export function profiledBefore(
  inputs: Pick<RunInputs, 'beside'>,
  members: readonly RankedInput[],
): readonly RankNotes[] {
  const manifests = manifestsOf(inputs).map((m) => m.manifest);
  const ranks = new Map(manifests.flatMap((m) => (m.of === 'rank' && m.rank !== null ? [[m.rank, m]] : [])));
  const inTraces = members.map((m) => ({
    rank: m.rank,
    problems: wasAttached(m, ranks.get(m.rank) ?? null) ? STAYS_ATTACHED : [],
  }));
  const measured = [...ranks.values()].map((m) => ({ rank: m.rank ?? 0, problems: isSlower(m) }));
  return [...inTraces, ...measured];
}

const STAYS_ATTACHED = found(
  'note',
  'profiled-before',
  1,
  'this process had been profiled before, and the profiler stayed attached to the GPU',
  'between windows the job runs slower than the step given here, up to 1.7 times if its host is the limit; ' +
    'TEARDOWN_CUPTI=1 in its environment prevents that from CUDA 12.6 on',
);

function wasAttached(input: RankedInput, manifest: RankManifest | null): boolean {
  const summary = traceSummaryOf(input);
  if (!summary || summary.gpuWork === 0) return false;
  const first = summary.steps[0]?.index ?? Number.POSITIVE_INFINITY;
  const earlier = (manifest?.windows ?? []).filter((w) => w.firstStep < first);
  // Capture knows. Otherwise the trace or the other files tell.
  if (earlier.length > 0) return earlier.at(-1)!.detached === false;
  return summary.process.wasAttached ?? input.hasEarlierWindow;
}

function isSlower({ windows }: RankManifest): readonly CheckResult[] {
  const slower = windows.findLast((w) => w.slower !== null)?.slower ?? null;
  if (!slower) return [];
  const [low, high] = [slower.low, slower.high].map((change) => formatWholePercent(share(change)));
  return found(
    'warning',
    'slower-since-window',
    1,
    `steps take ${low} to ${high} longer since this rank recorded a profiler window`,
    'steps measured after it are slower than the job by itself; those before it count where there are any',
  );
}
