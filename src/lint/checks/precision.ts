import { inOneLine, use } from '../../remedies/remedies.js';
import type { Check, Fault } from '../kit/finding.js';
import type { Call } from '../python/script.js';
import type { Training } from '../training/training.js';

export const SIXTEEN_BIT =
  /autocast|\.half\(\)|bfloat16|float16|\bbf16\b|\bfp16\b|\bamp\b|mixed_precision|\bprecision\s*=|torch_dtype|deepspeed|MixedPrecision|float8|transformer_engine/;
const TF32 = /set_float32_matmul_precision|allow_tf32|fp32_precision|\btf32\b/i;
export const CONVOLUTIONS =
  /\bConv[23]d\b|torchvision\.models|\b(?:resnet|vgg|densenet|efficientnet|convnext|mobilenet|regnet|unet)/i;
const MATRICES = /Transformer|[Aa]ttention|\bLinear\(|\bLSTM\(|\bGRU\(|from_pretrained|\bGPT/;

export const checkPrecision: Check = (training) => [
  ...singlePrecision(training),
  ...needlessScaler(training),
];

/** A whole program that trains on a GPU and never says anything about precision. */
function singlePrecision(training: Training): Fault[] {
  const { regions, framework, mentions } = training;
  // Accelerate and DeepSpeed take the precision from their own configuration.
  const isOurs = framework === 'plain' || framework === 'fabric';
  if (!isOurs || !training.usesGpu || !training.isProgram || mentions(SIXTEEN_BIT) || mentions(TF32))
    return [];
  if (training.actsInEnvironment) return []; // small networks that wait for an environment
  const [loop] = regions.loops;
  if (!loop) return [];
  const at = { from: loop.owner.from, to: loop.head?.to ?? loop.owner.from + 3 };
  // cuDNN uses TF32 for convolutions without being asked; products of matrices stay in fp32.
  if (mentions(MATRICES) && !mentions(CONVOLUTIONS))
    return [
      {
        id: 'tf32-off',
        at,
        message:
          'This loop trains in fp32 without TF32 or autocast: matrix products do not use the Tensor Cores.',
        fix: inOneLine(use('tf32')),
      },
    ];
  return [
    {
      id: 'not-sixteen-bit',
      at,
      message:
        'This loop trains without autocast: 16-bit Tensor Cores have twice the rate of TF32 and move half the bytes.',
      fix: inOneLine(use('bf16-autocast')),
    },
  ];
}

/** bfloat16 has the range of fp32: nothing has to be scaled. */
function needlessScaler(training: Training): Fault[] {
  const dtypes = training
    .calls(/(?:^|\.)autocast$/)
    .map((call) => dtypeOf(call))
    .map((node) => (node ? valueText(node, training) : 'float16'));
  if (dtypes.length === 0 || !dtypes.every((text) => /^(?:torch\.)?bfloat16$/.test(text))) return [];
  return training
    .calls(/(?:^|\.)GradScaler$/)
    .filter((call) => {
      const enabled = call.keywords.get('enabled');
      return enabled === undefined || training.values.of(enabled) === true;
    })
    .map((call) => ({
      id: 'not-sixteen-bit',
      at: call.node,
      message:
        'GradScaler with bfloat16: gradients are scaled and checked for infinity for nothing, and scaler.step waits for the check.',
      fix: inOneLine(use('no-scaler')),
    }));
}

const dtypeOf = (call: Call) =>
  call.keywords.get('dtype') ?? (call.name.startsWith('torch.cuda') ? undefined : call.positional[1]);

/** A dtype in a variable is followed once. */
function valueText(node: Parameters<Training['text']>[0], { text, values }: Training): string {
  const given = text(node);
  const own = values.assignmentsTo(given);
  return own.length === 1 ? text(own[0]!.value) : given;
}
