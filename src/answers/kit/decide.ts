import { isJobCause, timeOf } from '../../facts/causes.js';
import type { Claim, Maker, Remark, Verdict } from './claim.js';
import { sentenceOf } from './words.js';

/** Asks the makers in their order. The first that answers decides, so each may rely on those before it having found nothing. */
export function decide<Seen, Made extends Claim>(
  seen: Seen,
  makers: readonly Maker<Seen, Made>[],
  remarks: readonly Remark[] = [],
): { readonly claim: Made; readonly verdict: Verdict } {
  for (const make of makers) {
    const made = make(seen);
    if (made) {
      const claim = remarks.reduce(withRemark, made);
      return { claim, verdict: verdictOf(claim) };
    }
  }
  throw new Error('the last maker always answers');
}

function withRemark<Made extends Claim>(claim: Made, { detail, qualifies }: Remark): Made {
  if (qualifies && qualifies.bottleneck !== claim.bottleneck) return claim;
  return {
    ...claim,
    cause: qualifies?.cause ?? claim.cause,
    confidence: Math.min(claim.confidence, qualifies?.atMost ?? 1),
    words: { ...claim.words, details: [...claim.words.details, detail] },
  };
}

const verdictOf = ({ bottleneck, cause, confidence, words, second = null, next = [] }: Claim): Verdict => ({
  bottleneck,
  cause,
  confidence,
  ...words,
  sentence: sentenceOf(words),
  second,
  next,
});

/** A finding, as far as the cause depends on it. */
interface Explains {
  readonly id: string;
  readonly addresses: Verdict['bottleneck'] | null;
}

/** The first finding that addresses the bottleneck is its cause, unless the verdict names a phase of the job. */
export function withCause(verdict: Verdict, findings: readonly Explains[]): Verdict {
  const target = timeOf(verdict.bottleneck);
  const found = findings.find((f) => f.addresses === target)?.id;
  return isJobCause(verdict.cause) || !found ? verdict : { ...verdict, cause: found };
}
