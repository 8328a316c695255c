import { share } from '../../base/units.js';
import type { RankView } from '../../diagnosis/ranks/rank-view.js';
import { outsidePerStep } from '../../facts/job-time.js';
import { about, use } from '../../remedies/remedies.js';
import { checkJobPhase, LEAST_PHASE } from '../kit/job-phase.js';
import { type AnyRule, silent, threshold } from '../kit/rule.js';

export const checkpointTime: AnyRule = {
  reads: 'traces and logs',
  info: {
    id: 'checkpoint-time',
    alias: 'W4',
    title: 'Saving checkpoints holds up training',
    needs: 'events of whyslow run',
    looksFor:
      'Time in torch.save, safetensors, torch.distributed.checkpoint and the checkpoints of Trainer, Lightning, Accelerate and DeepSpeed.',
    why: 'While the training thread copies, serializes and writes a checkpoint, nothing trains. With several ranks, all wait for the one that saves.',
    ...about('fewer-checkpoints'),
    thresholds: [LEAST_PHASE],
  },
  check: (view) =>
    checkJobPhase(view, 'checkpoint', 'checkpoint', {
      title: 'saving checkpoints holds up training: save less often, or in the background',
    }),
};

export const compileTime: AnyRule = {
  reads: 'traces and logs',
  info: {
    id: 'compile-time',
    alias: 'T16',
    title: 'torch.compile recompiles repeatedly',
    needs: 'events of whyslow run',
    looksFor: 'Compilations that continue after the first steps, on CPUs and GPUs.',
    why: 'A new length, a changed flag or a new object breaks a guard, and torch.compile compiles again. After 8 times it gives up and runs eagerly.',
    ...about('stable-guards'),
    thresholds: [LEAST_PHASE],
  },
  check: (view) =>
    checkJobPhase(view, 'compile', 'compilation', {
      title: 'code is recompiled repeatedly while training runs',
    }),
};

export const gcTime: AnyRule = {
  reads: 'traces and logs',
  info: {
    id: 'gc-time',
    alias: null,
    title: 'Python’s garbage collector holds up training',
    needs: 'events of whyslow run',
    looksFor: 'Time in full garbage collections, started by Python or by gc.collect().',
    why: 'A full collection looks at every object of the process: torch alone has about 300,000, a tokenizer or a dataset held in lists has millions. With several ranks each collects at another moment, and the others wait.',
    ...about('gc-frozen'),
    thresholds: [LEAST_PHASE],
  },
  check: (view) =>
    checkJobPhase(view, 'gc', 'full collection', { title: 'the garbage collector holds up training' }),
};

export const generationTime: AnyRule = {
  reads: 'traces and logs',
  unpriced: 'allowed',
  info: {
    id: 'generation-time',
    alias: null,
    title: 'Generation takes a large part of the job',
    needs: 'events of whyslow run',
    looksFor: 'Time in model.generate and in vLLM, of rollouts and of evaluations that generate.',
    why: 'Every token is a separate pass through the whole model, for a small batch. A batch lasts as long as its longest answer. No training happens meanwhile.',
    ...about('faster-generation'),
    thresholds: [LEAST_PHASE],
  },
  check: (view) =>
    checkJobPhase(view, 'generation', 'generation', {
      title: 'generation takes a large part of the job',
      // How much faster another engine is, is unknown here.
      price: null,
    }),
};

export const loggingTime: AnyRule = {
  reads: 'traces and logs',
  info: {
    id: 'logging-time',
    alias: null,
    title: 'Logging holds up training',
    needs: 'events of whyslow run',
    looksFor: 'Time in wandb, TensorBoard, MLflow, Accelerate’s trackers, tqdm, and in printing tensors.',
    why: 'A histogram, an image or a call to a server takes longer than a number. Printing a tensor copies it to the host and formats it.',
    ...about('fewer-logs'),
    thresholds: [LEAST_PHASE],
  },
  check: (view) =>
    checkJobPhase(view, 'logging', 'log call', {
      title: 'logging holds up training: log less, and less often',
    }),
};

const LEAST_UNKNOWN = threshold(
  'calls of the model without gradients',
  share(0.1),
  'of the steps and the time between them',
  'libraries make short calls without gradients themselves, torch.compile among them',
);

export const evaluationTime: AnyRule = {
  reads: 'traces and logs',
  info: {
    id: 'evaluation-time',
    alias: null,
    title: 'Evaluation takes a large part of the job',
    needs: 'events of whyslow run',
    looksFor:
      'Time from model.eval() to model.train(), in Trainer.evaluate, Trainer.predict and Lightning’s evaluation loop; or in calls of the model without gradients now and then.',
    why: 'No training happens meanwhile. A score for choosing a model rarely needs all of the data, and rarely this often.',
    ...about('fewer-evaluations'),
    thresholds: [LEAST_PHASE, LEAST_UNKNOWN],
  },
  check: (view) => {
    const has = (name: string) => view.job?.phases.some((p) => p.name === name && !p.own) ?? false;
    if (has('inference') && !has('evaluation'))
      return outsidePerStep(view.job!, 'inference') < LEAST_UNKNOWN.value * view.step.whole
        ? silent('the model is called without gradients for a small part of the time')
        : withoutEval(view);
    return checkJobPhase(view, 'evaluation', 'evaluation', {
      title: 'evaluation takes a large part of the job: less often, or on fewer batches',
    });
  },
};

/** The model called without gradients, but not in evaluation mode: what for is not known. */
const withoutEval = (view: RankView) =>
  checkJobPhase(view, 'inference', 'inference phase', {
    title: 'calls of the model without gradients take a large part of the job',
    remedy: use('fewer-evaluations', { withoutEval: true }),
  });
