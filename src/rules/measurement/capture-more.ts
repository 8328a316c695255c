import { SURE_ENOUGH } from '../../diagnosis/verdict/decide.js';
import { evidence } from '../kit/evidence.js';
import { type AnyRule, found, silent, threshold } from '../kit/rule.js';

const CAPTURE = `whyslow run --trace -- python train.py
whyslow capture OUT --steps 3   # of a job that whyslow run has started
# or by hand:
from torch.profiler import profile, schedule, ProfilerActivity
done = lambda p: p.export_chrome_trace("trace.json")
with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA],
             schedule=schedule(wait=5, warmup=3, active=6, repeat=1),
             on_trace_ready=done) as p:
    for batch in loader:
        train_step(batch)
        p.step()`;

const SURE = threshold(
  'confidence that needs no better trace',
  0.7,
  '',
  'well above the least for a verdict',
);

export const rule: AnyRule = {
  reads: 'traces and logs',
  unpriced: 'allowed',
  info: {
    id: 'capture-more',
    alias: 'T19',
    title: 'The evidence at hand does not decide',
    needs: 'anything',
    looksFor: 'No steps, no GPU work, one step only, or two answers too close to each other.',
    why: 'A wrong verdict costs more than another capture.',
    fix: {
      text: 'Record a few steps after warm-up, with CPU and CUDA activity and every step marked.',
      code: CAPTURE,
    },
    check: 'It does not change the training, which runs about 1.5 times slower while it is recorded.',
    cost: 'free',
    risk: 'none',
    thresholds: [threshold('confidence of a verdict', SURE_ENOUGH, '', 'docs/method/confidence.md'), SURE],
  },
  check(view, { verdict, job }) {
    const { steps } = view.facts;
    const missing = [
      steps.source === 'window' && 'no steps are marked (call profiler.step() once a step)',
      steps.source !== 'window' && steps.count < 2 && 'only one whole step',
      view.source === 'log' && 'only an event log: it has phases, no kernels and operators',
      view.source === 'trace' && !view.facts.hasHostEvents && 'no host events (record ProfilerActivity.CPU)',
    ].filter((text) => text !== false);
    const sure = verdict.confidence >= SURE.value && view.source === 'trace';
    if (verdict.bottleneck !== 'unknown' && (missing.length === 0 || sure))
      return silent('the evidence decides');
    const text =
      missing.length > 0 ? missing.join('; ') : 'the evidence does not decide; the verdict says why';
    return found({
      id: 'capture-more',
      title: view.source === 'log' ? 'record a trace' : 'record a better trace',
      confidence: 0.9,
      addresses: null,
      evidence: [evidence(view, text)],
      price: null,
      fix: {
        text: (view.job?.steps ?? WINDOW_STEPS) < WINDOW_STEPS ? LONGER : BY_COMMAND,
        code: `whyslow run --trace -- ${job.command}`,
      },
    });
  },
};

/** With those before it, a window ends here at the latest (docs/usage.md). */
const WINDOW_STEPS = 26;
const LONGER =
  'The job was too short for a profiler window: let it run for at least 30 steps, or shorten the window with --trace-active 3.';
const BY_COMMAND = 'It records a few steps after warm-up. `whyslow rules T19` shows how to do it by hand.';
