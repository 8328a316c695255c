import { namedRanks } from '../../base/rank-ranges.js';
import type { Cause, LateRanks, Pattern } from '../../run/lateness/late-ranks.js';
import { slowGpuWords } from './slow-gpu.js';

/** `computing`, `waiting for input`. */
export const CAUSE_WORDS: Readonly<Record<Cause, string>> = {
  data: 'waiting for input',
  gpu: 'computing',
  compile: 'compiling',
  host: 'host time (Python, pauses, launches)',
  link: 'transfer',
  unknown: 'of a kind the traces do not show',
};

const OFTEN: Readonly<Record<Pattern, string>> = {
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

/** The cause, and what telemetry says of the GPU. */
function causeWords({ cause, slowGpu, ranks }: LateRanks): string {
  return CAUSE_WORDS[cause] + (slowGpu ? `; ${slowGpuWords(slowGpu, ranks.length)}` : '');
}

/** One sentence: who is late, how often, what it costs, why. */
export function lateSentence(late: LateRanks): string {
  const who = describeRanks(late);
  const subject = who[0]!.toUpperCase() + who.slice(1);
  const cost = `${(late.cost / 1e6).toFixed(1)} ms`;
  if (late.ranks.length === 0) return `${subject} comes ${cost} late: ${causeWords(late)} is uneven`;
  const [comes, costs] = late.ranks.length > 1 ? ['come', 'cost'] : ['comes', 'costs'];
  return `${subject} ${comes} late${OFTEN[late.pattern]} and ${costs} ${cost} a step: ${causeWords(late)}`;
}
