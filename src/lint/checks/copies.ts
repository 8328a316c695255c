import type { SyntaxNode } from '@lezer/common';
import { inOneLine, use } from '../../remedies/remedies.js';
import type { Check, Fault } from '../kit/finding.js';
import { around, type Call, functionAround, goesThrough } from '../python/script.js';
import type { Training } from '../training/training.js';
import { feedsTraining } from './loader.js';

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
