import type { SyntaxNode } from '@lezer/common';
import { inOneLine, use } from '../../remedies/remedies.js';
import type { Check, Fault } from '../kit/finding.js';
import type { Call } from '../python/script.js';
import type { Constant } from '../python/values.js';
import type { Training } from '../training/training.js';

const TRAINER = /^(?:lightning|pytorch_lightning)(?:\.pytorch)?(?:\.trainer)?\.Trainer$/;
const FULL_PRECISION = /^(?:32|32-true|64|64-true)$/;
const SLOW_PROFILERS = /^(?:pytorch|advanced)$/;

/** Lightning's `Trainer(…)`. */
export const checkLightningTrainer: Check = (training) =>
  training
    .calls(TRAINER)
    .flatMap((call) => [
      ...precision(call, training),
      ...debugging(call, training),
      ...strategy(call, training),
    ]);

function precision(call: Call, { values, mentions }: Training): Fault[] {
  const given = call.keywords.get('precision');
  if (!given && call.hasSpread) return [];
  const runsOnCpu =
    values.of(call.keywords.get('accelerator')) === 'cpu' ||
    ['fast_dev_run', 'limit_train_batches'].some((name) => call.keywords.has(name));
  const value = given ? values.of(given) : '32';
  if (runsOnCpu || value === undefined || !FULL_PRECISION.test(String(value))) return [];
  if (mentions(/set_float32_matmul_precision|allow_tf32|fp32_precision|autocast/)) return [];
  return [
    {
      id: 'not-sixteen-bit',
      at: given ?? call.node,
      message: 'The Trainer computes in fp32 without TF32: matrix products do not use the Tensor Cores.',
      fix: inOneLine(use('bf16-autocast'), 'lightning'),
    },
  ];
}

function debugging(call: Call, { values }: Training): Fault[] {
  const found: Fault[] = [];
  const anomaly = call.keywords.get('detect_anomaly');
  if (anomaly && values.of(anomaly) === true)
    found.push({
      id: 'anomaly-detection',
      at: anomaly,
      message:
        'detect_anomaly=True: every backward operator is checked for NaN, and the host waits for each check.',
      fix: inOneLine(use('anomaly-off'), 'lightning'),
    });
  const profiler = call.keywords.get('profiler');
  if (profiler && SLOW_PROFILERS.test(String(values.of(profiler) ?? '')))
    found.push({
      id: 'heavy-profiler',
      at: profiler,
      message: `profiler="${values.of(profiler)}" is on for the whole run: steps take longer.`,
      fix: 'Remove it, or use profiler="simple".',
    });
  return found;
}

function strategy(call: Call, { values }: Training): Fault[] {
  const given = call.keywords.get('strategy');
  const name = given && values.of(given);
  if (!given || typeof name !== 'string' || !name.includes('find_unused_parameters_true')) return [];
  return [
    {
      id: 'find-unused-parameters',
      at: given,
      message:
        'find_unused_parameters is on: DDP walks the whole autograd graph in every step before the backward pass.',
      fix: inOneLine(use('ddp-static-graph'), 'lightning'),
    },
  ];
}

const ARGUMENTS =
  /^(?:transformers\.(?:\w+\.)*(?:Seq2Seq)?TrainingArguments|trl\.(?:\w+\.)*(?:SFT|DPO|ORPO|KTO|Reward)Config)$/;

interface Setting {
  readonly names: readonly string[];
  /** Undefined as value: not given, or not known. */
  isFault(value: Constant | undefined, isGiven: boolean, call: Call, training: Training): boolean;
  readonly fault: Omit<Fault, 'at'>;
}

/** `TrainingArguments` of transformers, and those of TRL that extend them. */
export const checkTrainingArguments: Check = (training) =>
  training
    .calls(ARGUMENTS)
    .filter(({ keywords }) =>
      ['no_cuda', 'use_cpu'].every((name) => training.values.of(keywords.get(name)) !== true),
    )
    .flatMap((call) => SETTINGS.flatMap((setting) => ask(setting, call, training)));

function ask({ names, isFault, fault }: Setting, call: Call, training: Training): Fault[] {
  const given = names
    .map((name) => call.keywords.get(name))
    .find((node): node is SyntaxNode => node !== undefined);
  if (!given && call.hasSpread) return [];
  if (!isFault(training.values.of(given), given !== undefined, call, training)) return [];
  return [{ id: fault.id, at: given ?? call.node, message: fault.message, fix: fault.fix }];
}

const isOn = (value: Constant | undefined): boolean => value === true;

const SETTINGS: readonly Setting[] = [
  {
    names: ['bf16', 'fp16'],
    // TRL's own arguments use bf16 by default.
    isFault: (_, __, { name, keywords }, { values, mentions }) =>
      name.startsWith('transformers') &&
      !mentions(/bfloat16|float16|\btf32\b|deepspeed/) &&
      ['bf16', 'fp16'].every((key) => !keywords.has(key) || values.of(keywords.get(key)) === false),
    fault: {
      id: 'not-sixteen-bit',
      message: 'TrainingArguments without bf16 or fp16: the Trainer computes in fp32.',
      fix: inOneLine(use('bf16-autocast'), 'transformers'),
    },
  },
  {
    names: ['dataloader_num_workers'],
    isFault: (value, isGiven) => !isGiven || value === 0,
    fault: {
      id: 'num-workers-zero',
      message: 'dataloader_num_workers is 0: the training process loads and collates every batch itself.',
      fix: inOneLine(use('loader-workers', { workers: 4, cores: null }), 'transformers'),
    },
  },
  {
    names: ['dataloader_pin_memory'],
    isFault: (value) => value === false,
    fault: {
      id: 'pageable-copies',
      message: 'dataloader_pin_memory=False: batches are copied to the GPU from pageable memory.',
      fix: inOneLine(use('pinned-copies'), 'transformers'),
    },
  },
  {
    names: ['gradient_checkpointing'],
    isFault: isOn,
    fault: {
      id: 'activation-checkpointing',
      message:
        'gradient_checkpointing=True: the backward pass computes the forward again, a fifth to a third of the step.',
      fix: inOneLine(use('keep-activations'), 'transformers'),
    },
  },
  {
    names: ['optim'],
    isFault: (value) => value === 'adamw_hf' || value === 'adamw_torch',
    fault: {
      id: 'unfused-optimizer',
      message: 'The optimizer is not fused: the update is a dozen passes over all parameters instead of one.',
      fix: inOneLine(use('fused-optimizer'), 'transformers'),
    },
  },
  {
    names: ['ddp_find_unused_parameters'],
    isFault: isOn,
    fault: {
      id: 'find-unused-parameters',
      message: 'ddp_find_unused_parameters=True: DDP walks the whole autograd graph in every step.',
      fix: inOneLine(use('ddp-static-graph'), 'transformers'),
    },
  },
  {
    names: ['logging_steps'],
    isFault: (value) => value === 1,
    fault: {
      id: 'host-sync',
      message: 'logging_steps=1: the loss is read in every step, and the host waits for the GPU.',
      fix: inOneLine(use('fewer-logs'), 'transformers'),
    },
  },
  {
    names: ['debug'],
    isFault: (value) => value === 'underflow_overflow',
    fault: {
      id: 'anomaly-detection',
      message: 'debug="underflow_overflow": the outputs of every module are checked in every step.',
      fix: 'Remove it once the overflow is found.',
    },
  },
  {
    names: ['torch_empty_cache_steps'],
    isFault: (value) => typeof value === 'number' && value < 10,
    fault: {
      id: 'allocator-churn',
      message:
        'torch_empty_cache_steps: the allocator gives its memory back and asks the driver for it again.',
      fix: 'Remove it.',
    },
  },
];
