import { expect, it } from 'vitest';
import { failureIn } from './failure.js';

it.each([
  ['Traceback (most recent call last):\n  File "a.py", line 1\nValueError: no data\n', 'ValueError: no data'],
  [
    '[rank1]: torch.OutOfMemoryError: CUDA out of memory.\n  raise ChildFailedError(\ntorch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n====\n',
    'torch.OutOfMemoryError: CUDA out of memory.',
  ],
  ['step 1\nSegmentation fault\n', 'Segmentation fault'],
  [
    'torch._inductor.exc.InductorError: InvalidCxxCompiler: No working C++ compiler found\n\nSet TORCHDYNAMO_VERBOSE=1\n',
    'torch._inductor.exc.InductorError: InvalidCxxCompiler: No working C++ compiler found',
  ],
  ['  10%|█\r  20%|██\rKeyError: 3', 'KeyError: 3'],
  ['', null],
])('the reason in %j', (text, reason) => expect(failureIn(text)).toBe(reason));
