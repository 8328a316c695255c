import type { Observed } from '../../diagnosis/observe.js';
import type { Claim } from '../kit/claim.js';
import { MEASURE, unknown } from '../kit/words.js';

/** Only the logs of torch.compile. */
interface Seen {
  readonly evidence: Pick<Observed['evidence'], 'compiled' | 'graphBreaks'>;
}

/** The answer when only a log of torch.compile exists. Null: there is none, or it is empty. */
export function compileLogAnswer({ evidence: { compiled, graphBreaks } }: Seen): Claim | null {
  if (compiled.length + graphBreaks.length === 0) return null;
  return {
    bottleneck: 'unknown',
    cause: 'no-evidence',
    confidence: 0.4,
    words: unknown('the torch.compile log shows what was compiled, not what the steps of the job wait for'),
    next: [MEASURE],
  };
}
