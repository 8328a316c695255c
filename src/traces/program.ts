import { inBlocks } from '../base/blocks.js';
import { oncePer } from '../base/once-per.js';
import type { Accelerator, Recorded } from '../facts/accelerator.js';
import { Category } from '../model/category.js';
import type { Trace } from '../model/trace.js';
import { hasOperators } from './timeline/host-spans.js';

/** Engines that serve models, as their own names for steps, ranges and Python files show. */
export const ENGINES = ['vllm', 'sglang', 'tgi', 'tensorrt-llm', 'tensorrt', 'lmdeploy', 'xdit'] as const;
export type Engine = (typeof ENGINES)[number];

/** What a recording is of. `unknown`: no operators were recorded, so nothing shows it. */
export const TASKS = ['training', 'inference', 'unknown'] as const;
export type Task = (typeof TASKS)[number];

/** What kind of program was recorded. */
export interface Program {
  /** It runs PyTorch. Otherwise the division of time holds, but advice about PyTorch does not. */
  readonly torch: boolean;
  /** Whether it has a backward pass or an optimizer. */
  readonly task: Task;
  /** The engine that serves a model with it. Null: none was recognized. */
  readonly engine: Engine | null;
  /** Most launches go into a graph that is being captured, and run later. */
  readonly captures: boolean;
  /** Which steps a serving engine says that it ran. */
  readonly served: { readonly prefill: number; readonly decode: number };
}

/** Names of PyTorch's operators, kernels, compiled kernels and Python files. */
const TORCH =
  /^aten::|\bat::(?:native|cuda)|\bat_cuda_detail|^triton_|torch\/|^Optimizer\.|^ProfilerStep#|c10d?::|_C10/;
/** An optimizer, or a node of the backward graph. */
const TRAINS = /^Optimizer\.|^autograd::|Backward\d{0,3}$|_backward(?:_|$)|^backward(?:[ _]pass)?$/i;
const KERNEL_TRAINS = /backward|_bwd(?:_|$)|(?:^|_)bwd_|[dw]grad|\badam|FusedAdam|FusedSgd/i;
const FRAME_TRAINS =
  /^torch\/(?:optim\/[\w/]{1,60}\.py\(\d+\): step|autograd\/__init__\.py\(\d+\): backward|_tensor\.py\(\d+\): backward)$/;

/** SGLang imports parts of vLLM, so it comes first. */
const OF_ENGINES: readonly (readonly [Engine, RegExp])[] = [
  ['sglang', /\bsglang[/.:]|^step\[(?:DECODE|EXTEND|PREFILL|MIXED)\b/],
  ['vllm', /\bvllm[/.:]|^vllm_|^execute_(?:new_)?\d+_/],
  ['tgi', /\btext_generation_server[/.:]/],
  ['tensorrt-llm', /\btensorrt_llm[/.:]/],
  ['tensorrt', /^ExecutionContext::|^TensorRT|\bnvinfer1?::/],
  ['lmdeploy', /\blmdeploy[/.:]/],
  ['xdit', /\bxfuser[/.:]|^execute_diffusion_/],
];
/** Each of them has one of these: a single test for most names. */
const MAY_BE_ENGINE =
  /sglang|vllm|text_generation|tensorrt|^TensorRT|^ExecutionContext|nvinfer|lmdeploy|xfuser|^execute_|^step\[/;
/** What a model is made of. Without any of these, operators are a benchmark or preparation of data. */
const MODEL =
  /^aten::(?:_?(?:\w{1,30}_)?conv(?:olution|\d)|(?:add|b|badd)?mm$|linear$|\w{0,40}attention|embedding$)/;
/** Engines' names for steps: SGLang's own, and one that vLLM made and others use too. */
const SERVED = [
  [/^step\[(?:EXTEND|PREFILL)/, /^step\[DECODE/],
  [
    /^execute_\d+_context_[1-9]\d*\b.{0,200}_generation_0\b/,
    /^execute_\d+_context_0\b.{0,200}_generation_[1-9]/,
  ],
] as const;
const CAPTURES = /^(?:cuda|hip)(?:Stream(?:Begin|End)Capture|GraphInstantiate)|^capture_\d+_[A-Z]+$/;

const LONGEST = 2000;
const OPERATOR = 1;
const KERNEL = 2;
const FRAME = 4;
const CALL = 8;
/** Any other event, or a thread or process. */
const OTHER = 16;
const GROUPS: Readonly<Partial<Record<Category, number>>> = {
  [Category.cpuOp]: OPERATOR,
  [Category.annotation]: OPERATOR,
  [Category.kernel]: KERNEL,
  [Category.pythonFunction]: FRAME,
  [Category.runtime]: CALL,
};

export const programOf = oncePer((trace: Trace): Program => {
  const { strings } = trace;
  const groups = groupsOfNames(trace);
  const found = new Set<Engine>();
  let [torch, model, operators, trains, captures] = [hasOperators(trace), false, 0, false, false];
  for (let id = 0; id < strings.size; id++) {
    const group = groups[id]!;
    if (group === 0) continue;
    const text = strings.text(id);
    if (text.length > LONGEST) continue;
    torch ||= TORCH.test(text);
    const operator = (group & OPERATOR) !== 0;
    operators += Number(operator && text.startsWith('aten::'));
    model ||= operator && MODEL.test(text);
    trains ||=
      (operator && TRAINS.test(text)) ||
      ((group & KERNEL) !== 0 && KERNEL_TRAINS.test(text)) ||
      ((group & FRAME) !== 0 && FRAME_TRAINS.test(text));
    captures ||= (group & (CALL | OPERATOR)) !== 0 && CAPTURES.test(text);
    if (MAY_BE_ENGINE.test(text))
      for (const [engine, pattern] of OF_ENGINES) if (pattern.test(text)) found.add(engine);
  }
  const engine = OF_ENGINES.find(([name]) => found.has(name))?.[0] ?? null;
  const { launches, launchesWithoutWork } = trace.links;
  return {
    torch,
    task: trains
      ? 'training'
      : engine !== null || (model && operators >= FORWARD_PASS)
        ? 'inference'
        : 'unknown',
    engine,
    captures: captures && launchesWithoutWork > launches / 2,
    served: engine === null ? { prefill: 0, decode: 0 } : servedSteps(trace),
  };
});

/** An engine serves a model, as far as the recording shows. */
export const serves = ({ engine, task }: Program): boolean => engine !== null && task !== 'training';

/** Their servers answer /start_profile. */
const OWN_PROFILER: readonly (Engine | null)[] = ['vllm', 'sglang'];

/** What advice on a better recording depends on. */
export const recordedOf = ({ byNsys }: Accelerator, program: Program): Recorded => ({
  byNsys,
  torch: program.torch,
  ownProfiler: serves(program) && OWN_PROFILER.includes(program.engine),
});

/** A forward pass calls at least as many different operators. Fewer are a benchmark, which shows neither. */
const FORWARD_PASS = 8;

/** What kinds of events have each name. 0: it is an argument, and arguments say nothing here. */
function groupsOfNames({ data, strings }: Trace): Uint8Array {
  const groups = new Uint8Array(strings.size);
  const ofKind = data.kinds.map((k) => GROUPS[k.category] ?? OTHER);
  inBlocks(data.rows, (from, to) => {
    for (let row = from; row < to; row++) groups[data.name[row]!]! |= ofKind[data.kind[row]!]!;
  });
  for (const id of data.metadata.name) groups[id]! |= OTHER;
  return groups;
}

/** Of several ways to name steps, the one with most names counts: each step may have a name of each. */
function servedSteps({ index }: Trace): Program['served'] {
  const count = (pattern: RegExp) =>
    index.named(
      (k) => k.phase === 'X' && k.category === Category.annotation,
      (text) => text.length < LONGEST && pattern.test(text),
    ).length;
  const ways = SERVED.map(([prefill, decode]) => ({ prefill: count(prefill), decode: count(decode) }));
  return ways.reduce((a, b) => (b.prefill + b.decode > a.prefill + a.decode ? b : a));
}
