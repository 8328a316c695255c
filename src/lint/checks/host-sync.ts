import type { SyntaxNode } from '@lezer/common';
import { inOneLine, use } from '../../remedies/remedies.js';
import type { Check, Fault, LintRule } from '../kit/finding.js';
import { childrenOf, type Span } from '../python/nodes.js';
import { type Block, type Call, isInside } from '../python/script.js';
import { READS, Tensors } from '../training/tensors.js';
import type { Training } from '../training/training.js';

interface Pause {
  readonly name: RegExp;
  readonly id: LintRule;
  readonly message: string;
  readonly fix: string;
}

const PAUSES: readonly Pause[] = [
  {
    name: /^torch\.cuda\.empty_cache$/,
    id: 'allocator-churn',
    message:
      'torch.cuda.empty_cache() in every step: the allocator gives its memory back and asks the driver for it again.',
    fix: inOneLine(use('keep-cache')),
  },
  {
    name: /^gc\.collect$/,
    id: 'host-pause',
    message: 'gc.collect() in every step: the host walks all Python objects while the GPU runs dry.',
    fix: inOneLine(use('gc-frozen')),
  },
  {
    name: /^torch\.save$|\.save_checkpoint$|\.save_pretrained$/,
    id: 'checkpoint-in-step',
    message: 'A checkpoint in every step: training waits until it is written.',
    fix: inOneLine(use('background-checkpoint')),
  },
];

/** Work of the host in every step that holds up the GPU. */
export const checkHostPauses: Check = ({ calls, regions }) =>
  PAUSES.flatMap(({ name, id, message, fix }): Fault[] =>
    calls(name)
      .filter((call) => regions.isPerStep(call.node, call.block))
      .map((call) => ({ id, at: call.node, message, fix })),
  );

const PRINTS =
  /^(?:print|info|debug|warning|write|set_description|set_description_str|set_postfix|set_postfix_str|add_scalar)$/;
const FIX = inOneLine(use('late-reads'));

/** Reads of GPU values in every step: the host waits until the GPU has caught up, and the GPU then waits for the host. */
export const checkHostSync: Check = (training) => {
  if (!training.usesGpu || !training.regions.exist) return [];
  const tensors = new Tensors(training);
  const steps = environmentSteps(training);
  const found: Fault[] = [];
  const add = (at: Span, what: string, fix = FIX) =>
    found.push({
      id: 'host-sync',
      at,
      message: `${what} in every step: the host waits until the GPU is done.`,
      fix,
    });
  for (const call of training.script.calls) {
    const what = readIn(call, training, tensors);
    if (!what || !training.regions.isPerStep(call.node, call.block)) continue;
    if (feedsEnvironment(call, training, steps)) continue;
    if (what.endsWith('synchronize()'))
      add(call.node, what, 'Remove it, or time steps with torch.cuda.Event.');
    else add(call.node, what);
  }
  for (const block of training.script.blocks) {
    const condition = conditionOf(block);
    if (!condition || !block.parent || !isTensorTest(condition, block.parent, training, tensors)) continue;
    if (training.regions.isPerStep(condition, block.parent))
      add(
        condition,
        'A branch on a value of the GPU',
        'Test it every N steps, or use torch.where on the GPU.',
      );
  }
  return found;
};

/** What makes the host wait, in words. Null: nothing does. */
function readIn(call: Call, training: Training, tensors: Tensors): string | null {
  const { method, receiver, positional, block, name } = call;
  if (name === 'torch.cuda.synchronize') return 'torch.cuda.synchronize()';
  if (receiver && READS.has(method)) {
    if (tensors.isOnHost(receiver, block)) return null;
    const isSure = method === 'item' || method === 'cpu' || tensors.isOnDevice(receiver, block);
    return isSure && !isModule(receiver, training) ? `.${method}()` : null;
  }
  if (receiver && method === 'to' && positional[0] && training.values.of(positional[0]) === 'cpu')
    return call.keywords.has('non_blocking') || isModule(receiver, training) ? null : '.to("cpu")';
  if (/^(?:float|int|bool)$/.test(name) && positional[0])
    return tensors.isOnDevice(positional[0], block)
      ? `${name}(${shorten(training.text(positional[0]))})`
      : null;
  if (!PRINTS.test(method) && name !== 'wandb.log') return null;
  const shown = [...positional, ...call.keywords.values()]
    .flatMap((node) => shownIn(node))
    .find((node) => tensors.isOnDevice(node, block));
  return shown ? `${method}(${shorten(training.text(shown))})` : null;
}

/** Values that are turned into text: an argument itself, parts of an f-string, values of a dictionary. */
function shownIn(node: SyntaxNode): SyntaxNode[] {
  if (node.name === 'FormatString')
    return node.getChildren('FormatReplacement').flatMap((part) => childrenOf(part).slice(1, 2));
  return node.name === 'DictionaryExpression' ? childrenOf(node) : [node];
}

/** `model.cpu()`, `m.cpu().parameters()`: a whole module is moved. */
function isModule(receiver: SyntaxNode, { text, script }: Training): boolean {
  if (/(?:^|[._])(?:model|module|net|unet)\w*(?:\(\))?$|state_dict/.test(text(receiver))) return true;
  return /^\.\w+\(\)\.(?:parameters|state_dict)\(/.test(
    script.source.text.slice(receiver.to, receiver.to + 40),
  );
}

/** An environment outside torch needs the action on the host. */
function feedsEnvironment(call: Call, training: Training, steps: readonly Call[]): boolean {
  if (call.receiver && /\bact(?:ion)?s?\b/.test(training.text(call.receiver))) return true;
  const region = training.regions.regionOf(call.node, call.block);
  return region !== null && steps.some((step) => isInside(step.node, region.span));
}

const environmentSteps = ({ script, text }: Training): Call[] =>
  script.calls.filter(
    ({ method, receiver }) => method === 'step' && receiver !== null && /env/i.test(text(receiver)),
  );

const conditionOf = (block: Block): SyntaxNode | null =>
  block.kind === 'if' && block.owner.name === 'IfStatement' ? (block.head as SyntaxNode | null) : null;

function isTensorTest(condition: SyntaxNode, block: Block, training: Training, tensors: Tensors): boolean {
  const node = condition.name === 'UnaryExpression' ? condition.lastChild! : condition;
  if (/\b(?:is|in|and|or|isinstance)\b/.test(training.text(node))) return false;
  return tensors.isOnDevice(node, block);
}

const shorten = (text: string): string =>
  (text.length > 24 ? `${text.slice(0, 23)}…` : text).replace(/\s+/g, ' ');
