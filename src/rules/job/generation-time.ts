import { checkJobPhase, inWordsOf, LEAST_PHASE } from '../kit/job-phase.js';
import type { AnyRule } from '../kit/rule.js';

export const rule: AnyRule = {
  reads: 'traces and logs',
  unpriced: 'allowed',
  info: {
    id: 'generation-time',
    alias: null,
    title: 'Generation takes a large part of the job',
    needs: 'events of whyslow run',
    looksFor: 'Time in model.generate and in vLLM, of rollouts and of evaluations that generate.',
    why: 'Every token is a pass of its own through the whole model, for a small batch. A batch lasts as long as its longest answer. No training happens meanwhile.',
    fix: {
      text: 'Generate with an engine made for it (vLLM, SGLang), in larger batches, and stop answers early. Keep the cache on: gradient checkpointing turns use_cache off, and then each token computes all of the text again. Train more than once on each rollout if the algorithm allows it. In an evaluation: fewer samples, shorter answers.',
      code: 'model.generate(**batch, max_new_tokens=256, use_cache=True)\n# or: from vllm import LLM, SamplingParams',
    },
    check:
      'Compare rewards and the length of answers. Another engine rounds differently: correct for it with importance sampling, or compare log-probabilities of both. Training more often on one rollout makes it off-policy.',
    cost: 'code',
    risk: 'numerics',
    thresholds: [LEAST_PHASE],
  },
  check: (view, run) =>
    checkJobPhase(view, 'generation', 'generation', {
      title: 'generation takes a large part of the job',
      fix: inWordsOf(run.captured.get(view.rank), rule.info.fix, {
        transformers: {
          code: '# TRL:\nGRPOConfig(..., use_vllm=True, vllm_mode="colocate",\n    max_completion_length=256, num_iterations=2)\n# Seq2SeqTrainingArguments: generation_max_length, generation_num_beams=1',
        },
      }),
      // How much faster another engine is cannot be told from here.
      price: null,
    }),
};
