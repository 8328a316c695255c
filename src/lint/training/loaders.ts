import { type Block, type Call, functionAround, type Script } from '../python/script.js';
import type { Values } from '../python/values.js';
import type { Regions } from './regions.js';

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
