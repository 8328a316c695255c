import { formatWholePercent, share } from '../../base/units.js';
import { competingThread } from '../../diagnosis/ranks/rank-activity.js';
import { about } from '../../remedies/remedies.js';
import { evidence } from '../kit/evidence.js';
import { priceOfStep } from '../kit/price.js';
import { type AnyRule, found, silent, threshold } from '../kit/rule.js';

const HOLDS = threshold(
  'background thread',
  share(0.3),
  'of what the training thread runs',
  'our judgment: a thread that runs less often can hold it up only for a part of its time',
);

export const rule: AnyRule = {
  reads: 'traces and logs',
  unpriced: 'allowed',
  info: {
    id: 'gil-contention',
    alias: null,
    title: 'Another Python thread holds the interpreter lock',
    needs: 'manifests of whyslow run',
    looksFor:
      'A thread of the job that runs Python next to the training thread, which gets little processor time.',
    why: 'Only one thread of a process runs Python at a time. Each time the training thread comes back from an operator it waits up to 5 ms for the lock (sys.setswitchinterval), and a step has hundreds of operators.',
    ...about('background-process'),
    thresholds: [HOLDS],
  },
  check(view, run) {
    const captured = run.captured.get(view.rank);
    if (!captured?.cpu) return silent('CPU time was not recorded');
    const thread = competingThread(captured);
    if (!thread) return silent('no other Python thread of the job runs');
    if (thread.ran < HOLDS.value * thread.trainerRan)
      return silent('other Python threads run far less than the training thread');
    // Their work is making batches, and the loop waits for it.
    if (view.inputLine !== null) return silent('the other threads make batches');
    const { line, ran, trainerRan, trainerWaits } = thread;
    const text = `thread ${line.thread} runs ${formatWholePercent(ran)} of the time, mostly at ${line.file}:${line.line} in ${line.function}; the training thread runs ${formatWholePercent(trainerRan)} and waits for neither a core nor input for up to ${formatWholePercent(trainerWaits)}`;
    // At best the training thread has nothing to wait for.
    const most = view.step.unprofiled * Math.min(trainerWaits, 0.95);
    const won = { low: 0.2, likely: 0.75, high: 1 } as const;
    return found({
      id: 'gil-contention',
      title: 'another Python thread takes the interpreter lock from the training thread',
      confidence: 0.8,
      addresses: 'host',
      evidence: [evidence(view, text, Math.round(100 * ran), '%')],
      price: priceOfStep(view, (level) => view.step.unprofiled - most * won[level]),
    });
  },
};
