import { inOneLine, use } from '../../remedies/remedies.js';
import type { Check, Fault } from '../kit/finding.js';
import type { Training } from '../training/training.js';
import { RAGGED } from './compiling.js';
import { CONVOLUTIONS, SIXTEEN_BIT } from './precision.js';

/** Pictures of a new size in many steps. */
const NEW_SIZES =
  /RandomShortestSize\(|ScaleJitter\(|random\.choice\(\s*\w*(?:sizes|scales|resolutions)\b|random\.choice\(\s*\[\s*\d+/i;
const MODEL =
  /^(?:torch\.nn\.Sequential|torchvision\.models\.(?:\w+\.)*(?:resnet|vgg|densenet|efficientnet|convnext|mobilenet|regnet)\w*|timm\.create_model)$/;

export const checkConvolutions: Check = (training) => [...layout(training), ...autotuning(training)];

/** These work on NCHW memory only: channels_last would copy before and after each of them. */
const NCHW_NORMS = /\b(?:GroupNorm|InstanceNorm[23]d|group_norm|instance_norm)\(/;

/** Convolutions in 16 bit that nobody put into the layout of the Tensor Cores. */
function layout(training: Training): Fault[] {
  const { usesGpu, isProgram, mentions, regions, framework } = training;
  if (!usesGpu || !isProgram || !regions.exist || framework !== 'plain') return [];
  if (!mentions(CONVOLUTIONS) || !mentions(SIXTEEN_BIT) || mentions(/channels_last/)) return [];
  if (mentions(NCHW_NORMS)) return [];
  const at = modelIn(training);
  if (!at) return [];
  return [
    {
      id: 'nchw-convolutions',
      at,
      message:
        'Convolutions under autocast in the default layout: cuDNN transposes around them to use the Tensor Cores.',
      fix: inOneLine(use('channels-last')),
    },
  ];
}

/** Where a model of convolutions is made: a known one, or a class of this file that has convolutions. */
function modelIn({ script, calls, text }: Training) {
  const own = new Set(
    script.blocks
      .filter((b) => b.kind === 'class' && hasConvolutions(text(b.span)))
      .flatMap((b) => b.owner.getChild('VariableName') ?? [])
      .map(text),
  );
  const inside = (call: (typeof script.calls)[number]) => hasConvolutions(text(call.node));
  const made = [
    ...script.calls.filter(
      (call) => call.receiver === null && own.has(call.method) && !isInClass(call.block),
    ),
    ...calls(MODEL).filter((call) =>
      call.name.endsWith('Sequential') ? inside(call) && !isInClass(call.block) : true,
    ),
  ];
  return made.toSorted((a, b) => a.node.from - b.node.from)[0]?.node ?? null;
}

/** One alone cuts pictures into patches. */
const hasConvolutions = (text: string): boolean => (text.match(/\bConv[23]d\(/g) ?? []).length > 1;

function isInClass(block: Training['script']['blocks'][number]): boolean {
  for (let at = block.parent ? block : null; at; at = at.parent) if (at.kind === 'class') return true;
  return false;
}

function autotuning({ values, mentions }: Training): Fault[] {
  if (!mentions(NEW_SIZES) && !mentions(RAGGED)) return [];
  return values
    .assigned('cudnn.benchmark')
    .filter((assignment) => values.of(assignment.value) === true)
    .map((assignment) => ({
      id: 'cudnn-benchmark',
      at: assignment.span,
      message:
        'cudnn.benchmark=True with inputs of changing size: cuDNN tries its algorithms again for every new size.',
      fix: inOneLine(use('cudnn-benchmark-off')),
    }));
}
