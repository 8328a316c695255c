import { inOneLine, use } from '../../remedies/remedies.js';
import type { Check, Fault } from '../kit/finding.js';
import type { Call } from '../python/script.js';
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
