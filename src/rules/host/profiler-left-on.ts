import { PROFILER_LEFT_ON } from '../../facts/step-facts.js';
import { about } from '../../remedies/remedies.js';
import { evidence } from '../kit/evidence.js';
import { type AnyRule, found, silent } from '../kit/rule.js';

export const rule: AnyRule = {
  reads: 'traces and logs',
  unpriced: 'allowed',
  info: {
    id: 'profiler-left-on',
    alias: 'T12',
    title: 'The job’s own profiler is left on',
    needs: 'events of whyslow run',
    looksFor: 'The job’s own torch.profiler records most of its steps.',
    why: 'A recording profiler makes every operator slower, and its memory and files grow. A schedule without repeat begins a new window after each one.',
    ...about('profile-once'),
    thresholds: [],
  },
  check(view) {
    const note = view.notes.find(({ code }) => code === PROFILER_LEFT_ON);
    if (!note) return silent('no profiler of the job records most steps');
    return found({
      id: 'profiler-left-on',
      title: 'the job’s own profiler records most of its steps',
      confidence: 0.9,
      addresses: 'host',
      evidence: [evidence(view, note.message)],
      price: null,
    });
  },
};
