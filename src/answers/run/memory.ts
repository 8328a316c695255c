import type { Observed } from '../../diagnosis/observe.js';
import type { Claim } from '../kit/claim.js';
import { fullest, memoryInWords, partsInWords, size } from '../kit/memory-words.js';
import { words } from '../kit/words.js';

interface Seen {
  readonly evidence: Pick<Observed['evidence'], 'memory'>;
}

/** The answer when only memory snapshots exist (T22). They show what holds memory, not what takes time. */
export function memoryAnswer({ evidence: { memory } }: Seen): Claim | null {
  const worst = fullest(memory);
  if (!worst) return null;
  const { oom, growth } = worst.facts;
  const [first] = growth;
  const details = [
    ...(oom ? [`The allocation that failed was made at ${oom.at}`] : []),
    ...(first ? [`Each step keeps ${size(first.bytesPerStep)} more, made at ${first.at}`] : []),
  ];
  return {
    bottleneck: 'unknown',
    cause: oom ? 'out-of-memory' : 'memory-peak',
    confidence: 0.9,
    words: words(oom ? 'Out of memory' : 'Memory', memoryInWords(worst, memory), ...details),
    next: partsInWords(worst)
      ? []
      : ['record what holds the memory: whyslow run --memory -- python train.py'],
  };
}

/** The job ended because an allocation failed: that comes before how fast its steps were. */
export const outOfMemoryAnswer = (
  seen: Seen & { readonly evidence: Pick<Observed['evidence'], 'ranOut'> },
) => (seen.evidence.ranOut ? memoryAnswer(seen) : null);

/** It answers another question than what takes time. */
export const isAboutMemory = (cause: string): boolean => cause === 'out-of-memory' || cause === 'memory-peak';
