import { SURE_ENOUGH } from '../../answers/steps/shares.js';
import { recordedBy } from '../../diagnosis/ranks/rank-view.js';
import { markSteps } from '../../facts/accelerator.js';
import { about, use } from '../../remedies/remedies.js';
import { evidence } from '../kit/evidence.js';
import { type AnyRule, found, silent, threshold } from '../kit/rule.js';

const SURE = threshold(
  'confidence that needs no better trace',
  0.7,
  '',
  'well above the least for a verdict',
);

export const rule: AnyRule = {
  reads: 'traces and logs',
  servesToo: true,
  unpriced: 'allowed',
  info: {
    id: 'capture-more',
    alias: 'T19',
    title: 'The evidence is inconclusive',
    needs: 'anything',
    looksFor: 'No steps, no GPU work, one step only, or two answers too close to each other.',
    why: 'A wrong verdict costs more than another recording.',
    ...about('record-trace'),
    thresholds: [threshold('confidence of a verdict', SURE_ENOUGH, '', 'docs/method/confidence.md'), SURE],
  },
  check(view, { verdict, job }) {
    const { steps } = view.facts;
    if (view.source === 'trace' && view.facts.accelerator.unread > 0)
      return silent('the events of this device are not understood, in whatever recording');
    const recorded = recordedBy(view);
    const missing = [
      steps.source === 'window' && `no steps are marked (${markSteps(recorded)})`,
      steps.source !== 'window' && steps.count < 2 && 'only one whole step',
      view.source === 'log' && 'only an event log: it has phases, no kernels and operators',
      view.source === 'trace' &&
        !view.facts.hasHostEvents &&
        `no host events (${recorded.byNsys ? 'nsys profile -t cuda,nvtx,osrt' : 'record ProfilerActivity.CPU'})`,
    ].filter((text) => text !== false);
    const sure = verdict.confidence >= SURE.value && view.source === 'trace';
    if (verdict.bottleneck !== 'unknown' && (missing.length === 0 || sure))
      return silent('the evidence is conclusive');
    const text =
      missing.length > 0 ? missing.join('; ') : 'the evidence does not decide; the verdict says why';
    return found({
      id: 'capture-more',
      title: view.source === 'log' ? 'record a trace' : 'record a better trace',
      confidence: 0.9,
      addresses: null,
      evidence: [evidence(view, text)],
      price: null,
      ...(view.source === 'log' && verdict.bottleneck === 'gpu' ? { note: USUAL } : {}),
      remedy: use('record-trace', {
        job,
        tooShort: (view.job?.steps ?? WINDOW_STEPS) < WINDOW_STEPS,
        ownProfiler: recorded.ownProfiler,
      }),
    });
  },
};

/** Phases show that the GPU computes, not what. */
const USUAL =
  ' Add --shapes to see how far each kernel is from the hardware. Where a GPU computes all of the time, the usual candidates are bf16 autocast or TF32, torch.compile, fused attention and channels_last for convolutions. Nothing here shows what they gain: `whyslow try` measures them.';

/** With those before it, a window ends here at the latest (docs/usage.md). */
const WINDOW_STEPS = 26;
