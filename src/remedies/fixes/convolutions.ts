import { NONE, remedy } from '../kit/remedy.js';

export interface Dimensions {
  /** Of most convolutions. */
  readonly dimensions: 2 | 3;
}

const formatOf = ({ dimensions }: Dimensions) => (dimensions === 3 ? 'channels_last_3d' : 'channels_last');

export const channelsLast = remedy({
  id: 'channels-last',
  title: 'channels_last layout for convolutions',
  cost: 'code',
  risk: 'none',
  check:
    'Shapes stay NCHW, only strides change. Code that calls .view() across channels, or custom kernels, may fail loudly or need .reshape(). Group and instance norms of torch work on NCHW memory only: they copy.',
  text: (args: Dimensions) => `Keep model and input in ${formatOf(args)}.`,
  plain: (args) => ({
    lines: [
      `model = model.to(memory_format=torch.${formatOf(args)})`,
      `x = x.to(device, memory_format=torch.${formatOf(args)}, non_blocking=True)`,
    ],
  }),
  usual: { dimensions: 2 },
  trial: { answers: ['nchw-convolutions'], risk: 'numerics' },
});

export const cudnnBenchmark = remedy({
  id: 'cudnn-benchmark',
  title: 'cuDNN searches for the fastest convolution',
  cost: 'free',
  risk: 'none',
  check:
    'Algorithms may differ from run to run. Do not use it with cudnn.deterministic, or with changing shapes: each new shape is searched again.',
  text: 'If the flag is off and shapes are constant, let cuDNN search. The first steps get slower.',
  plain: { lines: ['torch.backends.cudnn.benchmark = True'] },
  usual: NONE,
  trial: { answers: ['cudnn-benchmark'] },
});

export const cudnnBenchmarkOff = remedy({
  id: 'cudnn-benchmark-off',
  title: 'cuDNN does not search again for every new size',
  cost: 'free',
  risk: 'none',
  check: 'Results agree to rounding: cuDNN may take another algorithm.',
  text: 'Leave cudnn.benchmark off, or resize or pad to a few fixed sizes.',
  plain: { lines: ['torch.backends.cudnn.benchmark = False'] },
  usual: NONE,
});
