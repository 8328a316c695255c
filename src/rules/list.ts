import { debugApis } from './host/t12-debug-apis.js';
import { launchBound } from './host/t15-launch-bound.js';
import { recompiles } from './host/t16-recompiles.js';
import { smallBatch } from './host/t18-small-batch.js';
import { syncsAndCollectives } from './host/t23-syncs-and-collectives.js';
import { scalarCollectives } from './host/w02-scalar-collectives.js';
import { fusedOptimizer } from './host/w03-fused-optimizer.js';
import { pauses } from './host/w04-pauses.js';
import { numWorkers } from './input/t04-num-workers.js';
import { persistentWorkers } from './input/t05-persistent-workers.js';
import { pinnedCopies } from './input/t06-pinned-copies.js';
import { prefetch } from './input/t07-prefetch.js';
import { slowWorkers } from './input/t08-slow-workers.js';
import { tf32 } from './kernels/t09-tf32.js';
import { cudnnBenchmark } from './kernels/t10-cudnn-benchmark.js';
import { channelsLast } from './kernels/t11-channels-last.js';
import { sixteenBit } from './kernels/t13-sixteen-bit.js';
import { fusedAttention } from './kernels/t14-fused-attention.js';
import { checkpointing } from './kernels/t17-checkpointing.js';
import type { Rule } from './kit/rule.js';
import { split } from './measurement/t01-split.js';
import { clocksAndPower } from './measurement/t02-clocks-and-power.js';
import { captureMore } from './measurement/t19-capture-more.js';
import { memory } from './measurement/t22-memory.js';
import { profilerSwitches } from './measurement/w06-profiler-switches.js';
import { lateRank } from './ranks/w01-late-rank.js';
import { slowLink } from './ranks/w05-slow-link.js';

/** Every rule there is, in the order of the knowledge base. Adding one: its file, its test, its line here. */
export const RULES: readonly Rule[] = [
  split,
  clocksAndPower,
  numWorkers,
  persistentWorkers,
  pinnedCopies,
  prefetch,
  slowWorkers,
  tf32,
  cudnnBenchmark,
  channelsLast,
  debugApis,
  sixteenBit,
  fusedAttention,
  launchBound,
  recompiles,
  checkpointing,
  smallBatch,
  captureMore,
  memory,
  syncsAndCollectives,
  lateRank,
  scalarCollectives,
  fusedOptimizer,
  pauses,
  slowLink,
  profilerSwitches,
];
