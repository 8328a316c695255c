import { formatMs } from '../../base/units.js';
import { atInputWait, percentOfStep, timeEvidence } from '../kit/evidence.js';
import { INPUT_WAIT, NO_WORKERS, silentIfFed } from '../kit/input-wait.js';
import { found, type TraceRule } from '../kit/rule.js';

/** A step waits if it waits for more than this part of the step. */
const WAITS = 0.02;

export const rule: TraceRule = {
  reads: 'traces',
  unpriced: 'allowed',
  info: {
    id: 'slow-workers',
    alias: 'T8',
    title: 'The loader is too slow although it has workers',
    needs: 'trace, better with /proc or py-spy',
    looksFor: 'GPU idle in _MultiProcessingDataLoaderIter.__next__: the workers do not keep up.',
    why: 'More workers help only while there are free cores (CPU-bound work) or latency to hide (IO-bound work). Which it is decides the fix.',
    fix: {
      text: 'Look at the workers while the job runs (top, py-spy dump). At 100 % CPU: move decoding and augmentation to the GPU, or do them once beforehand. Sleeping in read(): stage the data on local NVMe, and pack small files into large shards.',
      code: '# read or recv in its stack: IO-bound; a transform: CPU-bound\npy-spy dump --pid <a worker>\n# IO:  webdataset/parquet shards on local NVMe\n# CPU: kornia / torchvision.transforms.v2 on the GPU',
    },
    check: 'Compare a few hundred batches before and after: same samples, same distribution of augmentation.',
    cost: 'code',
    risk: 'data',
    thresholds: [INPUT_WAIT],
  },
  check(view) {
    const { input, timePerStep } = view.facts;
    if (input.inWorkers === 0) return NO_WORKERS;
    const fed = silentIfFed(view);
    if (fed) return fed;
    const exposed = view.time.idle_data;
    const waiting = timePerStep.filter((t) => t.idle_data > WAITS * view.step).length;
    const where =
      waiting > 0
        ? `${waiting} of ${timePerStep.length} steps wait`
        : 'according to the event log; the few recorded steps found their batches ready';
    const text = `_MultiProcessingDataLoaderIter.__next__: GPU idle ${formatMs(exposed)} a step (${percentOfStep(view, exposed)}), ${where}`;
    return found({
      id: 'slow-workers',
      title: 'the loader’s workers do not keep up',
      confidence: 0.85,
      addresses: 'data',
      evidence: [atInputWait(view, timeEvidence(view, exposed, text))],
      price: null,
    });
  },
};
