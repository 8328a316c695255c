import { evidence, silent } from '../kit/kit.js';
import type { AnyRule } from '../kit/rule.js';

export const CAPTURE = `whyslow run --trace -- python train.py
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

/** A verdict this sure needs no better trace. */
const SURE = 0.7;

export const captureMore: AnyRule = {
  reads: 'traces and logs',
  info: {
    id: 'T19',
    title: 'The evidence at hand does not decide',
    needs: 'anything',
    looksFor: 'No steps, no GPU work, one step only, or two answers too close to each other.',
    why: 'A wrong verdict costs more than another capture.',
    fix: {
      text: 'Record a few steps after warm-up, with CPU and CUDA activity and every step marked.',
      code: CAPTURE,
    },
    check: 'The training is not changed by it; it runs about 1.5 times slower while it records.',
    cost: 'free',
    risk: 'none',
    thresholds: [{ name: 'confidence', value: 0.5, unit: '', source: 'method 3' }],
  },
  check(view, run) {
    const { facts } = view;
    const missing = [
      ...(facts.steps.source === 'window' ? ['no steps are marked (call profiler.step() once a step)'] : []),
      ...(facts.steps.source !== 'window' && facts.steps.count < 2 ? ['only one whole step'] : []),
      ...(view.source === 'log' ? ['phases only, no trace'] : []),
      ...(view.source === 'log' || view.facts.hasHostEvents
        ? []
        : ['no host events (record ProfilerActivity.CPU)']),
    ];
    const sure = run.verdict.confidence >= SURE && view.source === 'trace';
    if (run.verdict.bottleneck !== 'unknown' && (missing.length === 0 || sure))
      return silent('the evidence decides');
    return {
      findings: [
        {
          id: 'capture-more',
          title: 'record a better trace',
          confidence: 0.9,
          addresses: null,
          evidence: [
            evidence(
              view,
              missing.length > 0
                ? `in this one: ${missing.join('; ')}`
                : 'the classes of time are too close to each other',
            ),
          ],
          price: null,
        },
      ],
    };
  },
};
