import { type Block, type Call, functionAround, isLoop, type Script } from '../python/script.js';
import { Values } from '../python/values.js';
import { Regions } from './regions.js';

/** A script and what it says about training: what every check reads. */
export interface Training {
  readonly script: Script;
  readonly values: Values;
  readonly regions: Regions;
  /** DataLoaders that feed training. */
  readonly loaders: readonly Loader[];
  readonly usesGpu: boolean;
  /** The whole program is in this file: settings that are not here are nowhere. */
  readonly isProgram: boolean;
  readonly framework: Framework;
  /** Reinforcement learning: the loop feeds an environment outside torch. */
  readonly actsInEnvironment: boolean;
  /** Text of an expression. */
  text(node: { readonly from: number; readonly to: number }): string;
  /** Calls whose resolved name matches. */
  calls(name: RegExp): readonly Call[];
  mentions(pattern: RegExp): boolean;
}

/** What runs the loop. */
export type Framework = 'plain' | 'accelerate' | 'fabric' | 'lightning' | 'transformers' | 'deepspeed';

export function readTraining(script: Script): Training {
  const values = new Values(script);
  const regions = new Regions(script);
  // Comments and strings that explain are no code.
  const code = script.source.text.replace(/^\s*#.*$/gm, '').replace(/"""[\s\S]*?"""/g, '""');
  return {
    script,
    values,
    regions,
    loaders: trainingLoaders(script, values, regions),
    usesGpu: usesGpu(code),
    isProgram: isProgram(script),
    framework: frameworkOf(script),
    actsInEnvironment: /\benvs?\w*\.step\(/.test(code),
    text: (node) => script.source.textOf(node),
    calls: (name) => script.calls.filter((call) => name.test(call.name)),
    mentions: (pattern) => pattern.test(code),
  };
}

function usesGpu(code: string): boolean {
  if (/\bcuda\b|accelerat|\bFabric\b|\bgpus?\b|lightning|deepspeed|torch_xla|TrainingArguments/i.test(code))
    return true;
  const onlyCpu = /device\s*=\s*(?:torch\.device\()?["']cpu["']/.test(code);
  return !onlyCpu && /\.to\(\s*(?:\w+\.)*(?:device|dev|rank|local_rank|gpu)\b/.test(code);
}

/** Code at the top that trains, or starts a function of this file that may. */
function isProgram({ source, functions, calls, imports }: Script): boolean {
  if ([...imports.values()].some((name) => name.startsWith('.'))) return false;
  if (/__name__\s*==\s*["']__main__["']/.test(source.text)) return true;
  const own = new Set(functions.filter((f) => f.className === null).map((f) => f.name));
  return calls.some(
    ({ block, name, method }) =>
      (block.kind === 'module' && own.has(name)) ||
      (isLoop(block) && functionAround(block) === null && /backward$|step$/.test(method)),
  );
}

function frameworkOf({ imports, calls }: Script): Framework {
  const modules = [...imports.values()];
  const has = (pattern: RegExp) => modules.some((name) => pattern.test(name));
  if (has(/^(?:accelerate\.Accelerator|accelerate)$/)) return 'accelerate';
  if (calls.some((call) => /^lightning.*\.Fabric$/.test(call.name))) return 'fabric';
  if (has(/^(?:lightning|pytorch_lightning)\b/)) return 'lightning';
  if (has(/^deepspeed\b/)) return 'deepspeed';
  return has(/^transformers\.(?:\w*Trainer|\w*TrainingArguments)$/) ? 'transformers' : 'plain';
}

const EVALUATION =
  /(?:^|_|\b)(?:val|valid|validation|test|eval|dev|infer|inference|predict|holdout|calib)\w*(?:_|\b)|(?:val|test|eval)(?:_?loader|_?dataloader|_?dl|_?set|_?data)/i;

/** A `torch.utils.data.DataLoader` that feeds training, as far as names tell. */
export interface Loader {
  readonly call: Call;
  /** Undefined: not known. */
  readonly workers: number | undefined;
  /** Undefined: not known. */
  readonly pinned: boolean | undefined;
  /** Its samples are tensors in memory already: workers would only copy them. */
  readonly inMemory: boolean;
}

export function trainingLoaders(script: Script, values: Values, regions: Regions): Loader[] {
  const loops = loopsByName(script);
  return script.calls
    .filter(isLoaderCall)
    .filter((call) => isForTraining(call, loops.get(call.target ?? '') ?? [], script, regions))
    .map((call) => ({
      call,
      workers: workersOf(call, values),
      pinned: pinnedOf(call, values),
      inMemory: isInMemory(call, script, values),
    }));
}

const isLoaderCall = (call: Call): boolean =>
  /^torch\.utils\.data(?:\.\w+)*\.DataLoader$|^torchdata\..*StatefulDataLoader$/.test(call.name);

/** By the loops over it; where no loop of this file names it, by its own name. */
function isForTraining(call: Call, loops: readonly Block[], script: Script, regions: Regions): boolean {
  if (loops.length > 0) return loops.some((loop) => regions.isStepLoop(loop));
  const around = functionAround(call.block)?.name ?? '';
  const dataset = call.positional[0] ?? call.keywords.get('dataset');
  const names = [call.target ?? '', around, dataset ? script.source.textOf(dataset) : ''];
  return !names.some((name) => EVALUATION.test(name) && !/train(?!er)/i.test(name));
}

/** Loops by the names in what they go over: `for … in loader`, `for … in enumerate(tqdm(self.loader))`. */
function loopsByName({ blocks, source }: Script): ReadonlyMap<string, readonly Block[]> {
  const loops = new Map<string, Block[]>();
  for (const block of blocks) {
    if (block.kind !== 'for' || !block.head) continue;
    for (const [word] of source.textOf(block.head).matchAll(/[\w.]+/g)) {
      const name = word.replace(/^self\./, '');
      const same = loops.get(name);
      if (same) same.push(block);
      else loops.set(name, [block]);
    }
  }
  return loops;
}

function workersOf(call: Call, values: Values): number | undefined {
  const given = call.keywords.get('num_workers') ?? call.positional[5];
  if (!given) return call.hasSpread ? undefined : 0;
  const value = values.of(given);
  return typeof value === 'number' ? value : undefined;
}

function pinnedOf(call: Call, values: Values): boolean | undefined {
  const given = call.keywords.get('pin_memory') ?? call.positional[7];
  if (!given) return call.hasSpread ? undefined : false;
  const value = values.of(given);
  return typeof value === 'boolean' ? value : undefined;
}

function isInMemory(call: Call, script: Script, values: Values): boolean {
  const dataset = call.positional[0] ?? call.keywords.get('dataset');
  if (!dataset) return false;
  const text = script.source.textOf(dataset);
  const from = values.assignmentsTo(text).map((a) => script.source.textOf(a.value));
  return [text, ...from].some((t) => /TensorDataset\(|FakeData\(/.test(t));
}
