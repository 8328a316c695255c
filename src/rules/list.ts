/** Every rule, one line each. Add yours here; rules.ts puts them in order. */
export { rule as exposedCollectives } from './comms/exposed-collectives.js';
export { rule as findUnusedParameters } from './comms/find-unused-parameters.js';
export { rule as noPrefetch } from './comms/no-prefetch.js';
export { rule as pipelineWaits } from './comms/pipeline-waits.js';
export { rule as scalarCollectives } from './comms/scalar-collectives.js';
export { rule as smallCollectives } from './comms/small-collectives.js';
export { rule as allocatorChurn } from './host/allocator-churn.js';
export { rule as anomalyDetection } from './host/anomaly-detection.js';
export { rule as checkpointInStep } from './host/checkpoint-in-step.js';
export { rule as cpuContention } from './host/cpu-contention.js';
export { rule as graphBreaks } from './host/graph-breaks.js';
export { rule as hostPause } from './host/host-pause.js';
export { rule as hostSync } from './host/host-sync.js';
export { rule as launchBound } from './host/launch-bound.js';
export { rule as memoryPressure } from './host/memory-pressure.js';
export { rule as noCudaGraphs } from './host/no-cuda-graphs.js';
export { rule as oneSlowStep } from './host/one-slow-step.js';
export { rule as profilerLeftOn } from './host/profiler-left-on.js';
export { rule as recompiles } from './host/recompiles.js';
export { rule as recompilesLogged } from './host/recompiles-logged.js';
export { rule as shapesFromData } from './host/shapes-from-data.js';
export { rule as smallBatch } from './host/small-batch.js';
export { rule as unfusedOptimizer } from './host/unfused-optimizer.js';
export { rule as zeroFill } from './host/zero-fill.js';
export { rule as burstyInput } from './input/bursty-input.js';
export { rule as numWorkersZero } from './input/num-workers-zero.js';
export { rule as pageableCopies } from './input/pageable-copies.js';
export { rule as slowWorkers } from './input/slow-workers.js';
export { rule as workersRestarted } from './input/workers-restarted.js';
export {
  checkpointTime,
  compileTime,
  evaluationTime,
  gcTime,
  generationTime,
  loggingTime,
} from './job/phase-times.js';
export { rule as rolloutTime } from './job/rollout-time.js';
export { rule as activationCheckpointing } from './kernels/activation-checkpointing.js';
export { rule as cudnnBenchmark } from './kernels/cudnn-benchmark.js';
export { rule as denseEmbeddingGradients } from './kernels/dense-embedding-gradients.js';
export { rule as doublePrecision } from './kernels/double-precision.js';
export { rule as nchwConvolutions } from './kernels/nchw-convolutions.js';
export { rule as notSixteenBit } from './kernels/not-sixteen-bit.js';
export { rule as tf32Off } from './kernels/tf32-off.js';
export { rule as unalignedProducts } from './kernels/unaligned-products.js';
export { rule as unfusedAttention } from './kernels/unfused-attention.js';
export { rule as unfusedElementwise } from './kernels/unfused-elementwise.js';
export { rule as busyButStarved } from './measurement/busy-but-starved.js';
export { rule as captureMore } from './measurement/capture-more.js';
export { rule as gpuThrottled } from './measurement/gpu-throttled.js';
export { rule as heavyProfiler } from './measurement/heavy-profiler.js';
export { rule as memorySnapshot } from './measurement/memory-snapshot.js';
export { rule as nsightNext } from './measurement/nsight-next.js';
export { rule as runningJob } from './measurement/running-job.js';
export { rule as stepSplit } from './measurement/step-split.js';
export { rule as lateRank } from './ranks/late-rank.js';
export { rule as rotatingImbalance } from './ranks/rotating-imbalance.js';
export { rule as slowLink } from './ranks/slow-link.js';
export { rule as stackDump } from './ranks/stack-dump.js';
export { rule as stuckCollective } from './ranks/stuck-collective.js';
