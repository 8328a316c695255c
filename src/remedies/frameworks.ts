import { LESS_OFTEN } from './fixes/job-phases.js';
import type { ArgsOf, RemedyId } from './fixes/list.js';
import { call, json, type Layout, options, PLAIN } from './kit/layout.js';
import type { Spelled } from './kit/remedy.js';

/** How remedies are spelled in one framework: a column of the catalog. */
export interface Framework extends Layout {
  /** As capture, `try` and lint name it. */
  readonly id: string;
  readonly name: string;
  /** Python modules whose calls show that it runs the training loop. Generated for the capture. */
  readonly modules: readonly string[];
  /** Remedies with a setting of its own. All others are spelled as in plain PyTorch. */
  readonly spell: { readonly [Id in RemedyId]?: Spelled | ((args: ArgsOf<Id>) => Spelled) };
}

/** As DataLoader names them. */
const LOADER = ['num_workers', 'persistent_workers', 'prefetch_factor', 'pin_memory'];

const TRAINER_DDP: Readonly<Record<string, string>> = {
  bucket_cap_mb: 'ddp_bucket_cap_mb',
  find_unused_parameters: 'ddp_find_unused_parameters',
  static_graph: 'ddp_static_graph',
};

/** Checked against transformers 5.23. */
const transformers: Framework = {
  id: 'transformers',
  name: 'transformers',
  modules: ['transformers.trainer'],
  form: call('TrainingArguments'),
  places: {
    DataLoader: {
      form: call('TrainingArguments'),
      names: (name) => (LOADER.includes(name) ? `dataloader_${name}` : null),
    },
    DDP: { form: call('TrainingArguments'), names: (name) => TRAINER_DDP[name] ?? null },
  },
  spell: {
    tf32: { settings: ['tf32=True'] },
    'pinned-copies': ({ pinned }) => ({
      settings: [
        ...(pinned ? [] : ['dataloader_pin_memory=True']),
        'accelerator_config={"non_blocking": True}',
      ],
    }),
    'fused-optimizer': { settings: ['optim="adamw_torch_fused"'] },
    'bf16-autocast': ({ to }) => ({ settings: [`${to}=True`] }),
    compile: { settings: ['torch_compile=True'] },
    'compile-graphs': ({ fusesOptimizer }) => ({
      settings: [
        'torch_compile=True',
        'torch_compile_mode="reduce-overhead"',
        ...(fusesOptimizer ? ['optim="adamw_torch_fused"'] : []),
      ],
    }),
    'fused-attention': {
      lines: ['AutoModel.from_pretrained(..., attn_implementation="sdpa")'],
    },
    'keep-activations': { settings: ['gradient_checkpointing=False'] },
    'larger-micro-batch': ({ size = '4 * batch_size' }) => ({
      settings: [`per_device_train_batch_size=${size}`],
      lines: ['# divide gradient_accumulation_steps by the same factor'],
    }),
    'fewer-checkpoints': {
      text: `${LESS_OFTEN} Without the optimizer a checkpoint is a third of the size, but training cannot be resumed from it.`,
      settings: ['save_steps=1000'],
      lines: ['# for evaluation only: save_only_model=True'],
    },
    'fewer-evaluations': { settings: ['eval_steps=1000', 'per_device_eval_batch_size=…'] },
    'fewer-logs': { settings: ['logging_steps=50'] },
    'faster-generation': {
      lines: [
        '# TRL:',
        'GRPOConfig(..., use_vllm=True, vllm_mode="colocate",',
        '    max_completion_length=256, num_iterations=2)',
        '# Seq2SeqTrainingArguments: generation_max_length, generation_num_beams=1',
      ],
    },
  },
};

/** Checked against Lightning 2.6. DDPStrategy and FSDPStrategy hand their arguments on to DDP and FSDP. */
const lightning: Framework = {
  id: 'lightning',
  name: 'Lightning',
  modules: ['lightning.', 'pytorch_lightning'],
  form: call('Trainer'),
  places: {
    DataLoader: { form: PLAIN.DataLoader.form, where: 'in train_dataloader()' },
    DDP: { form: call('DDPStrategy'), where: 'Trainer(strategy=...)' },
    FSDP: { form: call('FSDPStrategy'), where: 'Trainer(strategy=...)' },
  },
  spell: {
    'cudnn-benchmark': { settings: ['benchmark=True'] },
    'anomaly-off': { settings: ['detect_anomaly=False'] },
    'bf16-autocast': ({ to }) => ({ settings: [`precision="${to === 'bf16' ? 'bf16' : '16'}-mixed"`] }),
    'pinned-copies': ({ pinned }) =>
      pinned
        ? { lines: ['batch = batch.to(device, non_blocking=True)  # in transfer_batch_to_device()'] }
        : { set: { DataLoader: { pin_memory: true } } },
    'one-collective': {
      text: 'Log per epoch, or without sync_dist: each synchronized value is a collective.',
      lines: ['self.log(name, value, on_step=False, on_epoch=True)'],
    },
    'fewer-checkpoints': {
      text: `${LESS_OFTEN} Without the optimizer a checkpoint is smaller, but training cannot be resumed from it.`,
      lines: ['ModelCheckpoint(every_n_train_steps=1000)', '# for evaluation only: save_weights_only=True'],
    },
    'fewer-evaluations': { settings: ['val_check_interval=1000', 'limit_val_batches=50'] },
    'fewer-logs': { settings: ['log_every_n_steps=50'] },
  },
};

/** Checked against skorch 1.4. */
const skorch: Framework = {
  id: 'skorch',
  name: 'skorch',
  modules: ['skorch.'],
  form: call('NeuralNet'),
  places: { DataLoader: { form: call('NeuralNet'), names: (name) => `iterator_train__${name}` } },
  spell: { compile: { settings: ['compile=True'] } },
};

/** Checked against ultralytics 8.4. */
const ultralytics: Framework = {
  id: 'ultralytics',
  name: 'ultralytics',
  modules: ['ultralytics.'],
  form: call('model.train'),
  places: {
    DataLoader: { form: call('model.train'), names: (name) => (name === 'num_workers' ? 'workers' : null) },
  },
  spell: {
    compile: { settings: ['compile=True'] },
    'bf16-autocast': ({ to }) => ({ settings: [`amp="${to}"`] }),
  },
};

/** Checked against fastai 2.8. Its loader has no prefetch_factor. */
const fastai: Framework = {
  id: 'fastai',
  name: 'fastai',
  modules: ['fastai.'],
  form: call('block.dataloaders'),
  places: {
    DataLoader: {
      form: call('block.dataloaders'),
      names: (name) =>
        name !== 'prefetch_factor' && LOADER.includes(name) ? name : name === 'batch_size' ? 'bs' : null,
    },
  },
  spell: {
    'bf16-autocast': ({ to }) => ({ lines: [`learn = learn.to_${to}()`] }),
    'channels-last': ({ dimensions }) =>
      dimensions === 2
        ? { lines: ['learn = learn.to_channelslast()  # adds fp16 autocast unless use_amp=False'] }
        : { lines: ['learn.model = learn.model.to(memory_format=torch.channels_last_3d)'] },
    compile: { lines: ['learn.model = torch.compile(learn.model)'] },
  },
};

/** Checked against Keras 3.15 on torch. It wraps a PyDataset in a DataLoader of its own, whose workers are threads by default. */
const keras: Framework = {
  id: 'keras',
  name: 'Keras',
  modules: ['keras.'],
  form: call('model.compile'),
  places: {
    DataLoader: {
      form: call('super().__init__'),
      names: (name) => (name === 'num_workers' ? 'use_multiprocessing=True, workers' : null),
      where: 'in __init__ of the PyDataset',
    },
  },
  spell: {
    compile: { settings: ['jit_compile=True'] },
    'bf16-autocast': ({ to }) => ({
      lines: [`keras.mixed_precision.set_global_policy("mixed_${to === 'bf16' ? 'bfloat16' : 'float16'}")`],
    }),
    'fewer-checkpoints': { lines: ['keras.callbacks.ModelCheckpoint(path, save_freq=1000)'] },
    'fewer-evaluations': { lines: ['model.fit(..., validation_freq=5, validation_steps=50)'] },
  },
};

/** Checked against torchtitan 0.3. Its configuration files have the same names. */
const torchtitan: Framework = {
  id: 'torchtitan',
  name: 'torchtitan',
  modules: ['torchtitan.'],
  form: options('./run_train.sh'),
  places: {
    DataLoader: {
      form: options('./run_train.sh'),
      names: (name) => (LOADER.includes(name) ? `dataloader.${name}` : null),
    },
  },
  spell: {
    'bf16-autocast': { settings: ['--training.mixed_precision_param bfloat16'] },
    compile: { settings: ['--compile.enable'] },
    'fused-optimizer': { settings: ['--optimizer.implementation fused'] },
    'pinned-copies': { settings: ['--dataloader.pin_memory'] },
    'larger-micro-batch': ({ size = 'N' }) => ({ settings: [`--training.local_batch_size ${size}`] }),
    'gc-frozen': { settings: ['--training.gc_freq 1000'] },
    'fewer-checkpoints': {
      settings: ['--checkpoint.interval 1000', '--checkpoint.async_mode async'],
    },
    'fewer-evaluations': { settings: ['--validator.freq 1000', '--validator.steps 50'] },
    'fewer-logs': { settings: ['--metrics.log_freq 50'] },
  },
};

/** Checked against DeepSpeed 0.19. ZeRO takes the place of DDP and FSDP. */
const deepspeed: Framework = {
  id: 'deepspeed',
  name: 'DeepSpeed',
  modules: ['deepspeed.'],
  form: json('DeepSpeed config'),
  places: { DataLoader: PLAIN.DataLoader },
  spell: {
    'bf16-autocast': ({ to }) => ({ settings: [`"${to}": {"enabled": true}`] }),
    compile: { lines: ['engine.compile()  # after deepspeed.initialize'] },
    'overlap-collectives': { settings: ['"zero_optimization": {"overlap_comm": true}'] },
    'ddp-bucket-size': { settings: ['"zero_optimization": {"reduce_bucket_size": 5e8}'] },
    'fsdp-prefetch': { settings: ['"zero_optimization": {"stage3_prefetch_bucket_size": 5e7}'] },
    'fused-optimizer': {
      text: 'Use DeepSpeed’s own Adam, which is fused, and leave torch_adam out.',
      settings: ['"optimizer": {"type": "AdamW"}'],
    },
    'larger-micro-batch': ({ size = 'N' }) => ({
      settings: [`"train_micro_batch_size_per_gpu": ${size}`],
      lines: ['# divide gradient_accumulation_steps by the same factor'],
    }),
    'late-reads': { settings: ['"wall_clock_breakdown": false'] },
  },
};

/** Checked against Accelerate 1.15. The DataLoader is the user's own. */
const accelerate: Framework = {
  id: 'accelerate',
  name: 'Accelerate',
  modules: ['accelerate.data_loader'],
  form: call('Accelerator'),
  places: {
    DataLoader: PLAIN.DataLoader,
    DDP: { form: call('DistributedDataParallelKwargs'), where: 'Accelerator(kwargs_handlers=[...])' },
    FSDP: {
      form: call('FullyShardedDataParallelPlugin'),
      where: 'Accelerator(fsdp_plugin=...)',
    },
  },
  spell: {
    'bf16-autocast': ({ to }) => ({ settings: [`mixed_precision="${to}"`] }),
    compile: { settings: ['dynamo_backend="inductor"'] },
    'compile-graphs': {
      settings: ['dynamo_plugin=TorchDynamoPlugin("inductor", mode="reduce-overhead")'],
    },
    'pinned-copies': ({ pinned }) => ({
      set: { DataLoader: { pin_memory: !pinned } },
      settings: ['dataloader_config=DataLoaderConfiguration(non_blocking=True)'],
    }),
  },
};

const plain: Framework = {
  id: 'plain',
  name: 'PyTorch',
  modules: [],
  form: call('DataLoader'),
  places: PLAIN,
  spell: {},
};

/** Every framework, one column each. Add yours here; one that uses another comes before it. */
export const FRAMEWORKS: readonly Framework[] = [
  plain,
  transformers,
  lightning,
  skorch,
  ultralytics,
  fastai,
  keras,
  torchtitan,
  deepspeed,
  accelerate,
];

export const PLAIN_FRAMEWORK = plain;

/** The column of a framework. One that is unknown, or not in the catalog, is spelled as plain PyTorch. */
export const frameworkNamed = (id: string | null | undefined): Framework =>
  FRAMEWORKS.find((f) => f.id === id) ?? plain;
