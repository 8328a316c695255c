import { fusedAttention, keepActivations, sparseEmbeddings } from './attention.js';
import {
  bucketedGradients,
  ddpBucketSize,
  ddpBucketView,
  ddpStaticGraph,
  fsdpPrefetch,
  oneCollective,
  overlapCollectives,
  pipelineSchedule,
  shardedUnits,
} from './collectives.js';
import { compile, compileGraphs, compileOnce, wholeGraph } from './compile.js';
import { channelsLast, cudnnBenchmark, cudnnBenchmarkOff } from './convolutions.js';
import { fasterWorkers, stagedData } from './faster-workers.js';
import {
  expandableSegments,
  findPause,
  gcFrozen,
  keepCache,
  lessHostMemory,
  memorySnapshot,
} from './garbage.js';
import {
  anomalyOff,
  asyncLaunches,
  fixedSizes,
  lateReads,
  lightProfiler,
  profileOnce,
} from './host-reads.js';
import {
  backgroundCheckpoint,
  fasterGeneration,
  fewerCheckpoints,
  fewerEvaluations,
  fewerLogs,
  moreEnvironments,
} from './job-phases.js';
import { loaderPersistent, loaderPrefetch } from './loader-queue.js';
import { checkWorkers, loaderWorkers } from './loader-workers.js';
import { dropGradients, fusedOptimizer, largerMicroBatch } from './optimizer.js';
import { pinnedCopies } from './pinned-copies.js';
import { bf16Autocast, noScaler, paddedSizes, singlePrecision, tf32 } from './precision.js';
import {
  askNetwork,
  balanceRanks,
  firstBottleneck,
  fixLateRank,
  sameBranch,
  testLinks,
  unthrottle,
} from './ranks.js';
import { lookFromOutside, nsight, recordTrace, stepBreakdown, watchRun } from './recordings.js';
import { fewShapes, stableGuards } from './stable-guards.js';
import { dumpMissing, readStacks } from './stacks.js';
import { fewerThreads, numaBinding, ompThreads } from './threads.js';

/** Every remedy, in the order in which `whyslow try --all` runs those that have a trial: cheap and harmless ones first. Add yours here. */
export const REMEDIES = [
  tf32,
  cudnnBenchmark,
  anomalyOff,
  loaderWorkers,
  loaderPersistent,
  loaderPrefetch,
  pinnedCopies,
  fusedOptimizer,
  channelsLast,
  bf16Autocast,
  compile,
  compileGraphs,
  fusedAttention,
  gcFrozen,
  keepCache,
  expandableSegments,
  ompThreads,
  numaBinding,
  ddpBucketView,
  ddpBucketSize,
  ddpStaticGraph,
  fsdpPrefetch,
  largerMicroBatch,
  askNetwork,
  asyncLaunches,
  backgroundCheckpoint,
  balanceRanks,
  bucketedGradients,
  checkWorkers,
  compileOnce,
  cudnnBenchmarkOff,
  dropGradients,
  dumpMissing,
  fasterGeneration,
  fasterWorkers,
  fewShapes,
  fewerCheckpoints,
  fewerEvaluations,
  fewerLogs,
  fewerThreads,
  findPause,
  firstBottleneck,
  fixLateRank,
  fixedSizes,
  keepActivations,
  lateReads,
  lessHostMemory,
  lightProfiler,
  lookFromOutside,
  memorySnapshot,
  moreEnvironments,
  noScaler,
  nsight,
  oneCollective,
  overlapCollectives,
  paddedSizes,
  pipelineSchedule,
  profileOnce,
  readStacks,
  recordTrace,
  sameBranch,
  shardedUnits,
  singlePrecision,
  sparseEmbeddings,
  stableGuards,
  stagedData,
  stepBreakdown,
  testLinks,
  unthrottle,
  watchRun,
  wholeGraph,
] as const;

export type AnyRemedy = (typeof REMEDIES)[number];
export type RemedyId = AnyRemedy['id'];
export type ArgsOf<Id extends RemedyId> = Extract<AnyRemedy, { readonly id: Id }>['usual'];
