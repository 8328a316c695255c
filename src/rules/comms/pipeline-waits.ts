import { formatMs, type Ns } from '../../base/units.js';
import type { RankView } from '../../diagnosis/ranks/rank-view.js';
import { about } from '../../remedies/remedies.js';
import {
  EXPOSED,
  exchangedByStages,
  exposedCommunication,
  exposedEvidence,
  STAGES,
  silentIfShort,
} from '../kit/collectives.js';
import { percentOfStep, timeEvidence } from '../kit/evidence.js';
import type { Evidence } from '../kit/finding.js';
import { type AnyRule, found, silent } from '../kit/rule.js';

export const rule: AnyRule = {
  reads: 'traces and logs',
  unpriced: 'allowed',
  info: {
    id: 'pipeline-waits',
    alias: 'T23',
    title: 'Pipeline stages wait for each other',
    needs: 'trace or events (all ranks better)',
    looksFor: 'Exposed communication, most of it sends and receives between two ranks.',
    why: 'A stage computes nothing until the previous stage sends its result. With p stages and m micro-batches, (p − 1) of (m + p − 1) turns are spent on filling and draining the pipeline. All stages run at the pace of the slowest.',
    ...about('pipeline-schedule'),
    thresholds: [EXPOSED, STAGES],
  },
  check(view, run) {
    const short = silentIfShort(view);
    if (short) return short;
    const exchanged = exchangedByStages(view);
    if (exchanged === null) return silent('little of the exposed communication is between two ranks');
    return found({
      id: 'pipeline-waits',
      title: 'pipeline stages wait for each other',
      confidence: 0.8,
      addresses: 'comms',
      evidence: [exposedEvidence(view), exchangeEvidence(view, exchanged), ...slowestStage(view, run.ranks)],
      price: null,
    });
  },
};

const exchangeEvidence = (view: RankView, exchanged: Ns) =>
  timeEvidence(view, exchanged, `sends and receives: ${formatMs(exchanged)} per step of it`);

/** A stage that waits less than this part of what another one waits holds it up. */
const MUCH_LESS = 0.5;

function slowestStage(view: RankView, ranks: readonly RankView[]): Evidence[] {
  const least = ranks.reduce((a, b) => (exposedCommunication(b) < exposedCommunication(a) ? b : a), view);
  const waits = exposedCommunication(least);
  if (waits > MUCH_LESS * exposedCommunication(view)) return [];
  const text = `rank ${least.rank} waits least, ${formatMs(waits)} per step (${percentOfStep(least, waits)}): its stage is the slowest`;
  return [timeEvidence(view, waits, text)];
}
