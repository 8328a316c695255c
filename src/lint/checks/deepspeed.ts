import type { SyntaxNode } from '@lezer/common';
import { inOneLine, use } from '../../remedies/remedies.js';
import type { Check, Fault } from '../kit/finding.js';
import { entriesOf } from '../python/nodes.js';
import type { Constant } from '../python/values.js';
import type { Training } from '../training/training.js';

const PARTS = ['zero_optimization', 'fp16', 'bf16', 'optimizer'];
const MARKS = ['zero_optimization', 'train_micro_batch_size_per_gpu', 'train_batch_size'];

/** A DeepSpeed configuration, as a JSON file or as a dictionary in a script. */
export const checkDeepSpeed: Check = (training) =>
  training.script.dictionaries
    .map(({ node }) => new Settings(node, training))
    .filter(isConfiguration)
    .flatMap((settings) => [
      ...precision(settings),
      ...overlap(settings),
      ...measuring(settings),
      ...optimizer(settings),
    ]);

/** By keys that only DeepSpeed uses together. */
const isConfiguration = (settings: Settings): boolean =>
  MARKS.some((mark) => settings.node(mark)) &&
  PARTS.some((part) => settings.node(part)?.name === 'DictionaryExpression');

/** Nested dictionaries, read by path. */
class Settings {
  readonly root: SyntaxNode;
  readonly #training: Training;

  constructor(root: SyntaxNode, training: Training) {
    this.root = root;
    this.#training = training;
  }

  node(...path: readonly string[]): SyntaxNode | null {
    let at: SyntaxNode | null = this.root;
    for (const key of path) {
      if (at?.name !== 'DictionaryExpression') return null;
      at = entriesOf(at, this.#training.script.source.text).get(key) ?? null;
    }
    return at;
  }

  value(...path: readonly string[]): Constant | undefined {
    return this.#training.values.of(this.node(...path) ?? undefined);
  }
}

function precision(settings: Settings): Fault[] {
  const isOff = (key: string) => !settings.node(key) || settings.value(key, 'enabled') === false;
  if (!['fp16', 'bf16', 'bfloat16', 'amp'].every(isOff)) return [];
  return [
    {
      id: 'not-sixteen-bit',
      at: { from: settings.root.from, to: settings.root.from + 1 },
      message: 'Neither bf16 nor fp16 is enabled: DeepSpeed trains in fp32.',
      fix: inOneLine(use('bf16-autocast'), 'deepspeed'),
    },
  ];
}

function overlap(settings: Settings): Fault[] {
  const zero = settings.node('zero_optimization');
  const stage = settings.value('zero_optimization', 'stage');
  if (!zero || typeof stage !== 'number' || stage < 1) return [];
  const found: Fault[] = [];
  const overlapping = settings.node('zero_optimization', 'overlap_comm');
  const value = settings.value('zero_optimization', 'overlap_comm');
  // On by default for stage 3 only.
  if (value === false || (!overlapping && stage < 3))
    found.push({
      id: 'exposed-collectives',
      at: overlapping ?? { from: zero.from, to: zero.from + 1 },
      message: 'overlap_comm is off: gradients are reduced after the backward pass instead of during it.',
      fix: inOneLine(use('overlap-collectives'), 'deepspeed'),
    });
  const prefetch = settings.node('zero_optimization', 'stage3_prefetch_bucket_size');
  if (prefetch && settings.value('zero_optimization', 'stage3_prefetch_bucket_size') === 0)
    found.push({
      id: 'no-prefetch',
      at: prefetch,
      message: 'stage3_prefetch_bucket_size is 0: parameters are gathered only when they are needed.',
      fix: inOneLine(use('fsdp-prefetch'), 'deepspeed'),
    });
  return found;
}

function measuring(settings: Settings): Fault[] {
  const found: Fault[] = [];
  const timers = settings.node('wall_clock_breakdown');
  if (timers && settings.value('wall_clock_breakdown') === true)
    found.push({
      id: 'host-sync',
      at: timers,
      message:
        'wall_clock_breakdown is on: its timers make the host wait for the GPU several times per step.',
      fix: inOneLine(use('late-reads'), 'deepspeed'),
    });
  for (const name of ['flops_profiler', 'comms_logger']) {
    const enabled = settings.node(name, 'enabled');
    if (enabled && settings.value(name, 'enabled') === true)
      found.push({
        id: 'heavy-profiler',
        at: enabled,
        message: `${name} is on: it slows down the steps that it measures.`,
        fix: `"${name}": {"enabled": false}`,
      });
  }
  return found;
}

function optimizer(settings: Settings): Fault[] {
  const torch = settings.node('optimizer', 'params', 'torch_adam');
  if (!torch || settings.value('optimizer', 'params', 'torch_adam') !== true) return [];
  return [
    {
      id: 'unfused-optimizer',
      at: torch,
      message: 'torch_adam replaces DeepSpeed’s fused Adam by the one of torch.',
      fix: inOneLine(use('fused-optimizer'), 'deepspeed'),
    },
  ];
}
