import { type Call, functionAround, isLoop, type Script } from '../python/script.js';
import { Values } from '../python/values.js';
import { type Loader, trainingLoaders } from './loaders.js';
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
