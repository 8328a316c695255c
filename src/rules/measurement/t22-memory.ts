import { evidence, silent } from '../kit/kit.js';
import type { TraceRule } from '../kit/rule.js';

const CALLS = 1;

export const memory: TraceRule = {
  reads: 'traces',
  info: {
    id: 'T22',
    title: 'The question is memory, not time',
    needs: 'trace',
    looksFor:
      'The allocator at work inside steps (cudaMalloc, cudaFree): memory is short, fragmented, or given back by hand.',
    why: 'A trace of time does not say what holds memory. A memory snapshot does, with the stack of every allocation.',
    fix: {
      text: 'Record a snapshot over a few steps and open it at pytorch.org/memory_viz.',
      code: 'torch.cuda.memory._record_memory_history(max_entries=100_000)\n# ... a few steps ...\ntorch.cuda.memory._dump_snapshot("memory.pickle")',
    },
    check: 'Recording slows the loop: leave it off otherwise.',
    cost: 'free',
    risk: 'none',
    thresholds: [
      { name: 'allocator calls', value: CALLS, unit: 'a step', source: 'a warm allocator makes none' },
    ],
  },
  check(view) {
    const { detail } = view.facts;
    const calls = (detail?.operators ?? []).filter((o) =>
      /^(?:cuda|hip)(?:Malloc|Free)$|^cuMem(?:Create|Release)$/.test(o.name),
    );
    const perStep = calls.reduce((n, o) => n + o.count, 0) / (detail?.steps ?? 1);
    if (perStep < CALLS) return silent('the allocator is quiet');
    return {
      findings: [
        {
          id: 'memory-snapshot',
          title: 'the allocator works inside the steps: look at memory itself',
          confidence: 0.7,
          addresses: null,
          evidence: [
            evidence(
              view,
              `${perStep.toFixed(0)} calls of ${calls.map((o) => o.name).join(', ')} a step`,
              Math.round(perStep),
              'calls/step',
            ),
          ],
          price: null,
        },
      ],
    };
  },
};
