import type { Trace } from '../model/trace.js';
import { hasOperators } from './timeline/host-spans.js';

/** What kind of program was recorded. */
export interface Program {
  /** It runs PyTorch. Otherwise the division of time holds, but advice about PyTorch does not. */
  readonly torch: boolean;
  /** It has a backward pass or an optimizer. */
  readonly trains: boolean;
  /** The engine that serves a model with it. Null: none was recognized. */
  readonly serving: 'vllm' | 'sglang' | 'tensorrt' | null;
}

/** Names of PyTorch's operators, kernels, compiled kernels and Python files. */
const TORCH =
  /^aten::|\bat::(?:native|cuda)|\bat_cuda_detail|^triton_|torch\/|^Optimizer\.|^ProfilerStep#|c10d?::|_C10/;
/** An optimizer, a node of the backward graph, or a kernel of one. */
const TRAINS = /^Optimizer\.|^autograd::|Backward\d{0,3}$|_backward|backward_|\badam|multi_tensor/i;
/** Steps and Python files of engines. */
const ENGINES = [
  ['vllm', /^execute_(?:new_)?\d+_|\bvllm[/.:]/],
  ['sglang', /^step\[|\bsglang[/.:]/],
  ['tensorrt', /^ExecutionContext::|^TensorRT|\bnvinfer1?::/],
] as const;

const LONGEST = 2000;

export function programOf(trace: Trace): Program {
  const { strings } = trace;
  let torch = hasOperators(trace);
  let trains = false;
  let serving: Program['serving'] = null;
  for (let id = 0; id < strings.size; id++) {
    const text = strings.text(id);
    if (text.length > LONGEST) continue;
    torch ||= TORCH.test(text);
    trains ||= TRAINS.test(text);
    serving ??= ENGINES.find(([, pattern]) => pattern.test(text))?.[0] ?? null;
    if (torch && trains && serving) break;
  }
  return { torch, trains, serving };
}
