import { namedRanks } from '../../base/rank-ranges.js';
import { formatTime, formatWhole, formatWholePercent, ms, share } from '../../base/units.js';
import type { Incident, IncidentCause } from '../incidents/incident.js';

type Worded = Pick<
  Incident,
  'kind' | 'step' | 'time' | 'before_ms' | 'after_ms' | 'change' | 'ranks' | 'cause'
> & { readonly evidence: readonly string[] };

/** `Since step 41,200 (14:03) a step takes 12% longer (28.5 ms → 32.0 ms): rank 17 waits for its input.` */
export function sentenceOf(incident: Worded): string {
  const { kind, step, time, before_ms, after_ms, change, ranks, cause } = incident;
  const since = `Since step ${formatWhole(step)}${time === null ? '' : ` (${clock(time)})`}`;
  const how = `${formatTime(ms(before_ms))} → ${formatTime(ms(after_ms))}`;
  const by = formatWholePercent(share(Math.abs(change)));
  // "2210% longer" is hard to read.
  const longer = change < 1 ? `${by} longer` : `${(1 + change).toFixed(change < 9 ? 1 : 0)}× as long`;
  const where = ranks.length > 0 ? ` on ${namedRanks(ranks)}` : '';
  const why = REASON[cause];
  switch (kind) {
    case 'faster':
      return `${since} a step is ${by} shorter (${how}).`;
    case 'more-work':
      return `${since} the model computes more per step: it takes ${longer} (${how}), the optimizer does not.`;
    case 'growing':
      return `${since} steps keep getting longer, by ${by} so far (${how})${because(why, where)}.`;
    case 'pauses':
      return `${since} pauses take ${formatWholePercent(share(change / (1 + change)))} of the time${because(why, where)}.`;
    case 'behind':
      return `${since} ${namedRanks(ranks)} ${ranks.length === 1 ? 'is' : 'are'} ${by} of a step later than before${because(why, '')}.`;
    default:
      return `${since} a step takes ${longer} (${how})${because(why, where)}.`;
  }
}

const because = (why: string, where: string) => (why === '' ? where : `: ${why}${where}`);

/** In the time zone of whoever watches. */
function clock(time: string): string {
  const at = new Date(time);
  const two = (n: number) => String(n).padStart(2, '0');
  return `${two(at.getHours())}:${two(at.getMinutes())}`;
}

const REASON: Readonly<Record<IncidentCause, string>> = {
  loader: 'waiting for input',
  copies: 'copying batches to the device',
  network: 'communication between ranks, and no rank is late',
  host: 'Python code between the phases of the step',
  compute: 'forward, backward or optimizer',
  'garbage-collection': 'Python’s garbage collection',
  memory: 'memory runs out',
  checkpoint: 'saving checkpoints',
  evaluation: 'evaluation',
  logging: 'logging',
  compile: 'compilation',
  'gpu-clock': 'the clock of the GPU fell',
  neighbor: 'other processes take the cores',
  'more-work': 'more work per step',
  'late-rank': 'waiting for a late rank',
  unknown: '',
};

/** What to do, by cause. */
export const FIX: Readonly<Record<IncidentCause, string | null>> = {
  loader: 'Look at what the input comes from since then: a slower store, other files, other transforms.',
  copies: 'Look at what is copied: larger batches, memory that is no longer pinned.',
  network: 'Compare the links and hosts of the ranks; look for other traffic since then.',
  host: 'Look at what the loop does outside of the model since then: lists that grow, logging, callbacks.',
  compute: 'Compare a profiler window from before with one from now: whyslow capture, whyslow compare.',
  'garbage-collection': 'Objects pile up: keep no history in lists, and collect less often.',
  memory: 'Find what grows: keep loss.item() and not loss, bound caches and queues.',
  checkpoint:
    'Save less often, asynchronously (torch.distributed.checkpoint.async_save), or to a faster store.',
  evaluation: 'Evaluate less often, or on fewer batches.',
  logging: 'Log less often.',
  compile: 'Find what changes shape: TORCH_LOGS=recompiles.',
  'gpu-clock': 'Look at the cooling and the power limit of that GPU: nvidia-smi -q -d PERFORMANCE.',
  neighbor: 'Find them with top, and move them or the job.',
  'more-work': null,
  'late-rank': null,
  unknown:
    'Record a profiler window now and compare it with one from before: whyslow capture, whyslow compare.',
};
