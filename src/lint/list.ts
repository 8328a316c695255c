import { checkAttention } from './checks/attention.js';
import { checkCheckpointing } from './checks/checkpointing.js';
import { checkCollectives } from './checks/collectives.js';
import { checkCompiling } from './checks/compiling.js';
import { checkConvolutions } from './checks/convolutions.js';
import { checkCopies } from './checks/copies.js';
import { checkDebugging } from './checks/debugging.js';
import { checkDeepSpeed } from './checks/deepspeed.js';
import { checkDistributed } from './checks/distributed.js';
import { checkHostPauses } from './checks/host-pauses.js';
import { checkHostSync } from './checks/host-sync.js';
import { checkLightningTrainer } from './checks/lightning-trainer.js';
import { checkLoaders } from './checks/loader.js';
import { checkOptimizers } from './checks/optimizer.js';
import { checkPrecision } from './checks/precision.js';
import { checkTrainingArguments } from './checks/training-arguments.js';
import { checkZeroGrad } from './checks/zero-grad.js';
import type { Check } from './kit/finding.js';

/** Every check. Add yours here. */
export const CHECKS: readonly Check[] = [
  checkLoaders,
  checkCopies,
  checkHostSync,
  checkHostPauses,
  checkCollectives,
  checkDebugging,
  checkZeroGrad,
  checkPrecision,
  checkAttention,
  checkOptimizers,
  checkCompiling,
  checkCheckpointing,
  checkDistributed,
  checkConvolutions,
  checkTrainingArguments,
  checkLightningTrainer,
  checkDeepSpeed,
];
