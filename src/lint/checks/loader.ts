import type { SyntaxNode } from '@lezer/common';
import { inOneLine, use } from '../../remedies/remedies.js';
import type { Check, Fault } from '../kit/finding.js';
import { around, type Call, functionAround, goesThrough, loopAround } from '../python/script.js';
import type { Loader, Training } from '../training/training.js';

const DEVICE = /device|cuda|gpu|rank|\bdev\b/i;
const BATCH_NAME = /^(?:batch\w*|data|inputs?|x|y|xb|yb|targets?|labels?|images?|imgs?|samples?|tokens|ids)$/;

/** Copies of batches to the device: they overlap with the step only from pinned memory and with non_blocking=True. */
export const checkCopies: Check = (training) => {
  if (!training.usesGpu) return [];
  const copies = batchCopies(training);
  return [...unpinned(training, copies), ...blocking(training, copies)];
};

/** `x.to(device)` and `x.cuda()` of a batch, in every step. */
function batchCopies(training: Training): Call[] {
  return training.script.calls.filter(
    (call) =>
      isCopy(call, training) &&
      training.regions.isPerStep(call.node, call.block) &&
      isBatch(call.receiver, call, training),
  );
}

function isCopy({ method, positional, keywords }: Call, { text }: Training): boolean {
  if (method === 'cuda') return true;
  const device = keywords.get('device') ?? positional[0];
  return method === 'to' && device !== undefined && DEVICE.test(text(device)) && !/dtype/.test(text(device));
}

const isNonBlocking = ({ keywords, positional, method }: Call, { values }: Training): boolean | undefined => {
  const given = keywords.get('non_blocking') ?? (method === 'cuda' ? positional[1] : undefined);
  if (!given) return false;
  const value = values.of(given);
  return typeof value === 'boolean' ? value : undefined;
};

/** The target of a loop, a parameter that is called like a batch, or a part of either. */
function isBatch(receiver: SyntaxNode | null, call: Call, { script, values, text }: Training): boolean {
  let root = receiver;
  while (root && (root.name === 'MemberExpression' || root.name === 'CallExpression')) root = root.firstChild;
  if (root?.name !== 'VariableName') return false;
  const name = text(root);
  const word = new RegExp(`\\b${name}\\b`);
  for (const block of around(call.block)) {
    if (goesThrough(block, name, script)) return true;
    if (block.kind === 'function') break;
  }
  const owner = functionAround(call.block);
  const isParameter =
    owner !== null && word.test(text(owner.owner.getChild('ParamList') ?? { from: 0, to: 0 }));
  if (isParameter && BATCH_NAME.test(name)) return true;
  return values
    .assignmentsTo(name)
    .some((a) => /\bnext\(|\bbatch\b|\bdata\b/.test(text(a.value)) && a.span.to < call.node.from);
}

function unpinned(training: Training, copies: readonly Call[]): Fault[] {
  const { framework, loaders, mentions } = training;
  const movesItself = framework === 'accelerate' || framework === 'lightning' || framework === 'fabric';
  if (copies.length === 0 && !movesItself) return [];
  if (mentions(/\.pin_memory\(\)/)) return [];
  const nonBlocking = copies.find((copy) => isNonBlocking(copy, training) === true);
  const line = nonBlocking && training.script.source.lineAt(nonBlocking.node.from);
  return loaders
    .filter((loader) => loader.pinned === false && feedsTraining(loader, training))
    .map(({ call }) => ({
      id: 'pageable-copies',
      at: call.node,
      message: nonBlocking
        ? `DataLoader without pin_memory: non_blocking=True in line ${line} has no effect from pageable memory.`
        : 'DataLoader without pin_memory: batches are copied to the GPU from pageable memory, and the host waits for each copy.',
      fix: inOneLine(use('pinned-copies', { copied: movesItself || nonBlocking !== undefined })),
    }));
}

function blocking(training: Training, copies: readonly Call[]): Fault[] {
  const { loaders, regions } = training;
  const allPinned = loaders.length > 0 && loaders.every((loader) => loader.pinned === true);
  if (!allPinned) return [];
  const seen = new Set<unknown>();
  return copies
    .filter((copy) => isNonBlocking(copy, training) === false)
    .filter((copy) => {
      const region = regions.regionOf(copy.node, copy.block);
      const isFirst = !seen.has(region);
      seen.add(region);
      return isFirst;
    })
    .map((copy) => ({
      id: 'pageable-copies',
      at: copy.node,
      message: 'The batch is in pinned memory, but the copy blocks: the host waits for it in every step.',
      fix: inOneLine(use('pinned-copies', { pinned: true })),
    }));
}

/** DataLoaders that feed training: workers, their restarts, their queue. */
export const checkLoaders: Check = (training) =>
  training.loaders
    .filter((loader) => feedsTraining(loader, training))
    .flatMap((loader) => [
      ...workers(loader, training),
      ...restarts(loader, training),
      ...queue(loader, training),
    ]);

/** The file trains, or the name says that it is for training. */
export const feedsTraining = ({ call }: Loader, { regions, framework }: Training): boolean =>
  regions.exist || framework === 'lightning' || /train/i.test(call.target ?? '');

function workers(
  { call, workers, inMemory }: Loader,
  { text, actsInEnvironment }: Training,
): readonly Fault[] {
  // A buffer that the environment fills is in this process only.
  if (workers !== 0 || inMemory || actsInEnvironment) return [];
  const given = call.keywords.get('num_workers');
  const what = given
    ? text(given) === '0'
      ? 'DataLoader without workers'
      : `num_workers is ${text(given)}, 0 by default`
    : 'DataLoader without num_workers';
  return [
    {
      id: 'num-workers-zero',
      at: call.node,
      message: `${what}: the training process loads every batch itself, between steps, while the GPU waits.`,
      fix: inOneLine(use('loader-workers', { workers: 'N', cores: null, persistent: false })),
    },
  ];
}

function restarts(
  { call, workers }: Loader,
  { values, regions, framework, mentions }: Training,
): readonly Fault[] {
  if (!workers || call.hasSpread) return [];
  const given = call.keywords.get('persistent_workers');
  if (given && values.of(given) !== false) return [];
  const trainerHasEpochs = framework === 'lightning' && !mentions(/max_epochs\s*=\s*1\b|max_steps\s*=/);
  const hasEpochs = regions.haveEpochs || trainerHasEpochs || loopAround(call.block) !== null;
  if (!hasEpochs) return [];
  return [
    {
      id: 'workers-restarted',
      at: call.node,
      message: `${workers} workers without persistent_workers: they are started again in every epoch.`,
      fix: inOneLine(use('loader-persistent')),
    },
  ];
}

function queue({ call, workers }: Loader, { values }: Training): readonly Fault[] {
  if (workers === 0 || values.of(call.keywords.get('prefetch_factor')) !== 1) return [];
  return [
    {
      id: 'bursty-input',
      at: call.node,
      message:
        'prefetch_factor=1: each worker keeps one batch ready, so that one slow sample stalls the step.',
      fix: inOneLine(use('loader-prefetch')),
    },
  ];
}
