import { about } from '../../remedies/remedies.js';
import { countEvidence, evidence } from '../kit/evidence.js';
import { found, silent, type TraceRule } from '../kit/rule.js';

const SLOW: readonly string[] = [
  'with_stack',
  'record_shapes',
  'profile_memory',
  'with_flops',
  'with_modules',
];

export const rule: TraceRule = {
  reads: 'traces',
  servesToo: true,
  unpriced: 'allowed',
  info: {
    id: 'heavy-profiler',
    alias: 'W6',
    title: 'The profiler itself slows the loop: stacks, shapes or memory on',
    needs: 'trace',
    looksFor:
      'with_stack, record_shapes, profile_memory or with_flops among the trace’s switches, or Python frames in it.',
    why: 'Every frame, shape and allocation recorded costs the host microseconds: host-bound figures are too high, files too large.',
    ...about('light-profiler'),
    thresholds: [],
  },
  check(view, run) {
    const { switches, detail } = view.facts;
    const on = SLOW.filter((s) => switches.includes(s));
    const frames = (detail?.frames ?? 0) / (detail?.steps ?? 1);
    if (on.length === 0 && frames === 0) return silent('only what is needed was recorded');
    // Shapes show how far kernels are from the hardware, and hardly slow a step that waits for the GPU.
    const usesShapes = run.verdict.bottleneck === 'gpu' && detail !== null && detail.hardware !== null;
    if (usesShapes && frames === 0 && on.every((s) => s === 'record_shapes'))
      return silent('only shapes were recorded besides, which this verdict needs');
    const text = `recorded with ${on.length > 0 ? on.join(', ') : 'Python stacks'}`;
    return found({
      id: 'heavy-profiler',
      title: 'the profiler recorded more than a verdict needs',
      confidence: 0.95,
      addresses: null,
      evidence: [
        frames > 0
          ? countEvidence(view, frames, 'frames', `${text}: ${frames.toFixed(0)} Python frames per step`)
          : evidence(view, text),
      ],
      price: null,
    });
  },
};
