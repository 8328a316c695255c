import { namedRanks } from '../../base/rank-ranges.js';
import { formatTime, formatWhole, formatWholePercent, ms, share } from '../../base/units.js';
import type { Incident, IncidentCause } from '../../model/incident.js';
import type { RemedyId } from '../../remedies/fixes/list.js';
import { advise, use } from '../../remedies/remedies.js';

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
    case 'leak':
      return `${since} memory grows steadily, by ${by} so far: it will be full, and the job will end.`;
    case 'pauses':
      return `${since} pauses take ${formatWholePercent(share(change / (1 + change)))} of the time${because(why, where)}.`;
    case 'behind':
      return `${since} ${namedRanks(ranks)} ${ranks.length === 1 ? 'falls' : 'fall'} behind the others by ${formatTime(ms(after_ms - before_ms))} per step (${by})${because(why, '')}.`;
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
  neighbor: 'other programs take the cores',
  threads: 'a thread of the job itself takes a core',
  'more-work': 'more work per step',
  'late-rank': 'waiting for a late rank',
  unknown: '',
};

/** What to do, by cause. Null: nothing is wrong, or another incident has it. */
const REMEDY: Readonly<Record<IncidentCause, RemedyId | null>> = {
  loader: 'find-input-change',
  copies: 'find-copy-change',
  network: 'find-network-change',
  host: 'find-host-change',
  compute: 'compare-windows',
  'garbage-collection': 'collect-less',
  memory: 'bound-memory',
  checkpoint: 'fewer-checkpoints',
  evaluation: 'fewer-evaluations',
  logging: 'fewer-logs',
  compile: 'few-shapes',
  'gpu-clock': 'unthrottle',
  neighbor: 'move-neighbors',
  threads: 'stop-own-thread',
  'more-work': null,
  'late-rank': null,
  unknown: 'compare-windows',
};

export function fixOf(cause: IncidentCause): string | null {
  const id = REMEDY[cause];
  return id === null ? null : advise(use(id)).fix.text;
}
