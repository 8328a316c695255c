import { inOneLine, use } from '../../remedies/remedies.js';
import type { Check, Fault } from '../kit/finding.js';
import { loopAround } from '../python/script.js';
import type { Loader } from '../training/loaders.js';
import type { Training } from '../training/training.js';

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
