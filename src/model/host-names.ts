/** Names of host activity in traces. Names can be any text, so the patterns do not backtrack. */

/** Waiting for the next batch: spans of PyTorch and Lightning, Python frames, and common names for it. */
export const WAITS_FOR_DATA =
  /^enumerate\(.{0,200}\)#.{0,200}\.__next__$|^torch\/utils\/data\/dataloader\.py\(\d+\): (?:__next__|__iter__|_get_iterator|__init__)$|train_dataloader_next$|^(?:data_wait|data_loading|dataloading|data_load|load_batch|fetch_batch|get_batch|next_batch|dataloader_next|data_time)$/i;
/** Of those: the batch is made on the training thread itself. torchdata’s iterators begin with `_Stateful`. */
export const LOADS_IN_MAIN = /SingleProcessDataLoaderIter/;
export const LOADS_IN_WORKERS = /MultiProcessingDataLoaderIter/;
/** torch asks this of each tensor before it pins it. On the loader's own thread: a tensor of a batch has arrived. */
export const CHECKS_PINNED = /^(?:cuda|hip)PointerGetAttributes?$/;

/** Calls in which the host waits for the device. */
export const SYNCHRONIZES =
  /^(?:cuda|hip|cu|musa)(?:Device|Stream|Event|Ctx|Context)Synchronize|^(?:cuda|hip)Memcpy(?:2D|3D|WithStream|ToSymbol|FromSymbol)?$|^cuMemcpy[A-Z]\w{0,20}_v2$/;

/** Gives device memory back. It waits for the whole device first, though it has another purpose. */
export const FREES_MEMORY = /^(?:cuda|hip)Free$/;

/** Code that is compiled, tuned or loaded while the job runs. */
export const COMPILES =
  /\(dynamo_timed\)|_dynamo\/convert_frame|torch\/_inductor\/(?:compile_fx|async_compile|codecache)\.py|triton[^ ]{0,200}autotun|autotune_process|^(?:cu(?:da)?|hip)(?:Module|Library)Load/i;

/** Collectives that make the host wait. */
export const HOST_COLLECTIVE =
  /^(?:gloo|mpi|ucc):|^c10d::(?:barrier|monitored_barrier)|ProcessGroup\w{0,20}::?(?:wait|barrier)|(?:TCP|File|Prefix)Store\w{0,10}::?(?:wait|get)|\bdist\.barrier|distributed_c10d\.py\(\d+\): (?:barrier|monitored_barrier)/;

export const OPTIMIZER_STEP = /^Optimizer\.step#/;
export const ZERO_GRAD = /^Optimizer\.zero_grad#/;
/** A node of the backward graph being run. */
export const BACKWARD_NODE = /^autograd::engine::evaluate_function: /;
export const COMPILED_REGION = /^(?:Torch-Compiled Region|CompiledFunction|## Call CompiledFxGraph)/;
export const DYNAMO_LOOKUP = /^TorchDynamo Cache Lookup/;

/** Calls that run a model, a layer or an operator: what repeats inside one of them is no step. */
export const RUNS_PARTS =
  /^nn\.Module: |^aten::|^(?:Torch-Compiled Region|CompiledFunction|## Call CompiledFxGraph)/;

/** Names that people, frameworks and NVTX ranges give to steps: `step 12`, `iteration_3`, `train_step`, `Train/iter 7`. */
const STEP =
  /^((?:[\w.]{1,40}(?:: |[ /_-]))?(?:training|train|profiler|global|optimi[sz]er)?[ _-]?(?:step|iteration|iter|batch))[ #:=_-]{0,3}(\d{1,12})?$/i;
/** Steps of serving engines: vLLM's `execute_32_context_0(…)_generation_32(…)`, SGLang's `step[DECODE bs=32]`. */
const ENGINE_STEP = /^(execute)_(?:new_)?\d{1,9}_|^(step)\[[^\]]{0,100}\]$|^(execute_model)\b/;

/** A step's series and its number. NaN: it has none. Null: the name is not that of a step. */
export function stepNumber(name: string): { readonly series: string; readonly number: number } | null {
  const engine = ENGINE_STEP.exec(name);
  if (engine) return { series: engine[1] ?? engine[2] ?? engine[3]!, number: Number.NaN };
  const match = STEP.exec(name);
  if (!match) return null;
  return { series: match[1]!.toLowerCase(), number: match[2] === undefined ? Number.NaN : Number(match[2]) };
}
