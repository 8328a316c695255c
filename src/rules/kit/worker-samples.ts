import { bytes, formatBytes, formatCount, formatWholePercent, share } from '../../base/units.js';
import type { RankView } from '../../diagnosis/ranks/rank-view.js';
import type { RunFacts } from '../../diagnosis/run-facts.js';
import { READS } from '../../telemetry/processes/thresholds.js';
import type { WorkerUse } from '../../telemetry/processes/worker-use.js';
import { evidence } from './evidence.js';
import type { Evidence } from './finding.js';

/** What samples of /proc say of the DataLoader workers of a rank. */
export const sampledWorkers = (view: RankView, { evidence: { activity } }: RunFacts): WorkerUse | null =>
  activity.get(view.rank)?.workers ?? null;

const LEAST_NAMED = 0.05;
const percent = (part: number) => formatWholePercent(share(part));

/** One sentence with what decides between computing and reading. Empty without samples. */
export function workerEvidence(view: RankView, run: RunFacts): readonly Evidence[] {
  const use = sampledWorkers(view, run);
  if (!use) return [];
  const states = [
    [use.ran, 'run'],
    [use.queued, 'wait for a core'],
    [use.disk, 'wait for a disk or network file system'],
    [use.network, 'wait for the network'],
    [use.pause, 'sleep on a timer (time.sleep)'],
    [use.asks, 'wait for a request or a lock'],
  ] as const;
  const named = states.flatMap(([part, what]) =>
    part >= LEAST_NAMED ? [`${what} ${percent(part)} of the time`] : [],
  );
  const rate = (perSecond: number) => `${formatBytes(bytes(Math.round(perSecond)))}/s`;
  const reads =
    use.reads >= READS / 10 ? `; together they read ${rate(use.reads)}, ${rate(use.fromDisk)} from disk` : '';
  const who = formatCount(use.workers, 'DataLoader worker');
  const text = `in /proc, ${who}: ${named.length > 0 ? named.join(', ') : 'asleep all the time'}${reads}`;
  return [evidence(view, text, Math.round(100 * use.ran), '%')];
}
