import { namedRanks } from '../../base/rank-ranges.js';
import type { Cause, LateRanks, Pattern } from '../../run/lateness/late-ranks.js';
import { slowGpuWords } from './slow-gpu.js';

/** What a late rank spends the extra time on. */
export const CAUSE_WORDS: Readonly<Record<Cause, string>> = {
  data: 'waiting for input',
  gpu: 'computing',
  compile: 'compiling',
  host: 'host time (Python, pauses, launches)',
  link: 'slow transfers within their group',
  unknown: 'something the traces do not show',
};

const HOW_OFTEN: Readonly<Record<Pattern, string>> = {
  persistent: ' every step',
  spike: ' in single steps',
  periodic: ' every few steps',
  rotating: '',
  host: '',
  stage: '',
};

/** `rank 5`, `all ranks of node-3`. */
export function describeRanks({ ranks, location, pattern }: LateRanks): string {
  if (ranks.length === 0) return 'a different rank each step';
  if (pattern === 'host') return `all ranks of ${location ?? 'a host'}`;
  if (pattern === 'stage') return `all ranks at ${location ?? 'a stage'}`;
  return namedRanks(ranks);
}

/** One sentence: which ranks are late, how often, what it costs, why. */
export function lateSentence(late: LateRanks): string {
  const { ranks, cause, pattern, slowGpu } = late;
  const who = describeRanks(late);
  const subject = who[0]!.toUpperCase() + who.slice(1);
  const cost = `${(late.cost / 1e6).toFixed(1)} ms`;
  const why = CAUSE_WORDS[cause] + (slowGpu ? `; ${slowGpuWords(slowGpu, ranks.length)}` : '');
  if (ranks.length === 0) return `${subject} is ${cost} late: ${why} is uneven`;
  const [are, costs] = ranks.length > 1 ? ['are', 'cost'] : ['is', 'costs'];
  return `${subject} ${are} late${HOW_OFTEN[pattern]} and ${costs} ${cost} a step: ${why}`;
}
