import { NONE, remedy } from '../kit/remedy.js';

/** Fixes of what holds up training between steps: checkpoints, evaluation, logging, generation, rollouts. */

const BACKGROUND_CHECK =
  'Load a checkpoint that was written in the background and compare it. Host memory holds a copy meanwhile.';

export const backgroundCheckpoint = remedy({
  id: 'background-checkpoint',
  title: 'checkpoints written rarely, and in the background',
  cost: 'code',
  risk: 'memory',
  check: BACKGROUND_CHECK,
  text: 'Write checkpoints rarely, and in the background.',
  plain: {
    lines: ['if step % 1000 == 0:', '    torch.distributed.checkpoint.async_save(state, checkpoint_id=path)'],
  },
  usual: NONE,
});

export const LESS_OFTEN = 'Save less often: every half hour loses at most half an hour of work.';

export const fewerCheckpoints = remedy({
  id: 'fewer-checkpoints',
  title: 'fewer checkpoints, or in the background',
  cost: 'knob',
  risk: 'memory',
  check: `${BACKGROUND_CHECK} Wait for the last one (saving.result()) before the job ends.`,
  text: `${LESS_OFTEN} Or save in the background: async_save returns once the state is copied to host memory. With plain data parallelism one rank is enough.`,
  plain: {
    lines: [
      'import torch.distributed.checkpoint as dcp',
      'state = {"model": model.state_dict()}',
      'if step % 1000 == 0: saving = dcp.async_save(state, checkpoint_id=path)',
    ],
  },
  usual: NONE,
});

export interface Evaluation {
  /** The model is called without gradients, but not in evaluation mode: the reason is unknown. */
  readonly withoutEval?: boolean;
}

export const fewerEvaluations = remedy({
  id: 'fewer-evaluations',
  title: 'evaluation less often, or on fewer batches',
  cost: 'knob',
  risk: 'none',
  check: 'On fewer batches the score is noisier: compare it with the score on all of them once.',
  text: ({ withoutEval }: Evaluation) =>
    withoutEval
      ? 'If this is an evaluation, run it less often or on a fixed part of the data, and call model.eval() first, or dropout stays on. If it collects data (a rollout), use larger batches and fewer calls.'
      : 'Evaluate less often, or on a fixed part of the data, and on all of it at the end. Evaluation keeps no activations: a larger batch and torch.inference_mode() make it faster.',
  plain: { lines: ['if step % 1000 == 0:', '    evaluate(itertools.islice(validation, 50))'] },
  usual: {},
});

export const fewerLogs = remedy({
  id: 'fewer-logs',
  title: 'fewer log calls, with numbers only',
  cost: 'knob',
  risk: 'none',
  check: 'Curves have fewer points.',
  text: 'Log every few dozen steps, several values in one call, and numbers rather than tensors, histograms or images.',
  plain: {
    lines: ['if step % 50 == 0:', '    run.log({"loss": loss.item(), "lr": lr})   # one call, plain numbers'],
  },
  usual: NONE,
});

export const fasterGeneration = remedy({
  id: 'faster-generation',
  title: 'generation with an engine made for it',
  cost: 'code',
  risk: 'numerics',
  check:
    'Compare rewards and the length of answers. Another engine rounds differently: correct for it with importance sampling, or compare the log-probabilities of both. Training more often on one rollout makes it off-policy.',
  text: 'Generate with an engine made for it (vLLM, SGLang), in larger batches, and stop answers early. Keep the cache on: gradient checkpointing turns use_cache off, and then each token computes all of the text again. Train more than once on each rollout if the algorithm allows it. In an evaluation, use fewer samples and shorter answers.',
  plain: {
    lines: [
      'model.generate(**batch, max_new_tokens=256, use_cache=True)',
      '# or: from vllm import LLM, SamplingParams',
    ],
  },
  usual: NONE,
});

export interface Rollout {
  readonly environments: number;
  /** The training thread sleeps meanwhile: environments wait, and need no core each. */
  readonly sleeps?: boolean;
}

export const moreEnvironments = remedy({
  id: 'more-environments',
  title: 'several environments at once, in processes',
  cost: 'code',
  risk: 'data',
  check:
    'With n environments a rollout of the same length has n times the data: divide the number of steps by n, or tune again. Seed each environment.',
  text: ({ sleeps }: Rollout) =>
    `${sleeps ? 'The environments wait for most of the time: run several at once, more than there are cores.' : 'If the environment is slow, run several of them at once, in processes, one for each core. If the model is slow, use more environments for each call, since a larger batch costs little more.'} Longer rollouts with larger mini-batches need fewer updates.`,
  plain: ({ environments }) => ({
    lines: [
      `make_vec_env(make_env, n_envs=${environments}, vec_env_cls=SubprocVecEnv)   # SB3`,
      `gymnasium.vector.AsyncVectorEnv([make_env] * ${environments})`,
      `torchrl.envs.ParallelEnv(${environments}, make_env)`,
    ],
  }),
  usual: { environments: 8 },
});
