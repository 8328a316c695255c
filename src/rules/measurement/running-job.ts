import { share } from '../../base/units.js';
import { about } from '../../remedies/remedies.js';
import { GPU_BUSY } from '../../telemetry/busy-gpu.js';
import { PEGGED, THREADS_PER_CPU } from '../../telemetry/processes/process-activity.js';
import { type AnyRule, silent, threshold } from '../kit/rule.js';

export const rule: AnyRule = {
  reads: 'traces and logs',
  info: {
    id: 'running-job',
    alias: 'T3',
    title: 'What limits a running job, without instrumentation',
    needs: 'ten seconds of nvidia-smi and /proc: `whyslow triage`',
    looksFor:
      'A busy GPU; workers that are pegged (transforms) or wait for a disk (IO) while it is not; a training thread that launches or loads; many threads on few cores; neither GPU nor CPU busy.',
    why: 'These cases need different fixes, and an answer without a restart takes ten seconds.',
    ...about('look-from-outside'),
    thresholds: [
      threshold(
        'the GPU is the limit from',
        GPU_BUSY,
        '% of the time busy',
        'the zoo; the throughput guide says 90',
      ),
      threshold('pegged from', share(PEGGED), 'of a core', 'about 100%, less what sampling loses'),
      threshold('too many threads from', THREADS_PER_CPU, 'active ones a core', 'our judgment'),
    ],
  },
  check: () => silent('only for a running job: whyslow triage'),
};
