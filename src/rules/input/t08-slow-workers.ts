import { at, evidence, inMs, ms, percent, silent } from '../kit/kit.js';
import type { TraceRule } from '../kit/rule.js';

const EXPOSED = 0.05;

export const slowWorkers: TraceRule = {
  reads: 'traces',
  info: {
    id: 'T8',
    title: 'The loader is too slow although it has workers',
    needs: 'trace, better with /proc or py-spy',
    looksFor: 'GPU idle in _MultiProcessingDataLoaderIter.__next__: the workers do not keep up.',
    why: 'More workers help only while there are cores (work is CPU-bound) or latency to hide (work is IO-bound). Which it is decides the fix.',
    fix: {
      text: 'Look at the workers while it runs (whyslow triage, py-spy dump): pegged at 100 % CPU: move decoding and augmentation to the GPU or do them once beforehand; sleeping in read(): stage the data on local NVMe, shard small files into large ones.',
      code: '# read or recv in its stack: IO-bound; a transform: CPU-bound\npy-spy dump --pid <a worker>\n# IO:  webdataset/parquet shards on local NVMe\n# CPU: kornia / torchvision.transforms.v2 on the GPU',
    },
    check: 'Compare a few hundred batches before and after: same samples, same distribution of augmentation.',
    cost: 'code',
    risk: 'data',
    thresholds: [
      { name: 'input wait', value: EXPOSED, unit: 'of the step', source: 'TensorBoard plugin, XProf: 5 %' },
    ],
  },
  check(view) {
    const { input, timePerStep } = view.facts;
    if (input.inWorkers === 0) return silent('no DataLoader with workers was seen');
    const exposed = view.time.idle_data;
    if (exposed < EXPOSED * view.step)
      return silent(`input waits are ${percent(exposed / view.step)} of the step`);
    const waiting = timePerStep.filter((t) => t.idle_data > 0.02 * view.step).length;
    const where =
      waiting > 0
        ? `${waiting} of ${timePerStep.length} steps wait`
        : 'by the events log; the few steps of the trace found batches prepared';
    const seen = evidence(
      view,
      `_MultiProcessingDataLoaderIter.__next__: GPU idle ${ms(exposed)} a step (${percent(exposed / view.step)}), ${where}`,
      inMs(exposed),
      'ms/step',
    );
    return {
      findings: [
        {
          id: 'slow-workers',
          title: 'the loader’s workers do not keep up',
          confidence: 0.85,
          addresses: 'data',
          evidence: [input.longest ? at(seen, input.longest.ts, input.longest.dur) : seen],
          price: null,
        },
      ],
    };
  },
};
