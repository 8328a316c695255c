import { namedRanks } from '../../base/rank-ranges.js';
import { formatMs, type Ns } from '../../base/units.js';
import type { LateCause, LateRanks, Pattern } from '../../run/lateness/late-ranks.js';
import { slowGpuWords } from './clock-words.js';
import { capitalized } from './words.js';

/** What a late rank spends the extra time on. */
export const CAUSE_WORDS: Readonly<Record<LateCause, string>> = {
  data: 'waiting for input',
  gpu: 'computing',
  compile: 'compiling',
  host: 'host time (Python, pauses, launches)',
  link: 'slow transfers within their group',
  unknown: 'something that was not recorded',
};

/** `the phase tokenize (8.20 ms per step, 0.31 ms on the others)`, or the kind of time. */
export function whatLateRanksDo({ cause, phase }: LateRanks): string {
  if (!phase) return CAUSE_WORDS[cause];
  const usual = phase.usual > 0 ? `${formatMs(phase.usual)} on the others` : 'no other rank has it';
  return `the phase ${phase.name} (${formatMs(phase.time)} per step, ${usual})`;
}

const HOW_OFTEN: Readonly<Record<Pattern, string>> = {
  persistent: ' in every step',
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

/** `the delay of rank 5`. */
export const delayWords = (late: LateRanks): string =>
  late.ranks.length === 0 ? 'the imbalance' : `the delay of ${describeRanks(late)}`;

/** `0 to 14.7 ms`. */
const costRange = (least: Ns, most: Ns) =>
  `${(least / 1e6).toFixed(1).replace(/\.0$/, '')} to ${(most / 1e6).toFixed(1)} ms`;

/** Why a log cannot say what a delay costs, and what can. */
const HIDDEN_OR_NOT =
  'The delay is in the backward pass and may be hidden behind the gradients being sent. The log does not show which; a trace does';

/** One sentence: which ranks are late, how often, what it costs, why. */
export function lateSentence(late: LateRanks): string {
  const { ranks, pattern, slowGpu } = late;
  const subject = capitalized(describeRanks(late));
  const { cost: least, mayCost } = late;
  const cost = mayCost === undefined ? `${(least / 1e6).toFixed(1)} ms` : costRange(least, mayCost);
  const unsure = mayCost === undefined ? '' : `. ${HIDDEN_OR_NOT}`;
  const why = whatLateRanksDo(late) + (slowGpu ? `; ${slowGpuWords(slowGpu, ranks.length)}` : '');
  if (ranks.length === 0) return `${subject} is ${cost} late: ${why} is uneven${unsure}`;
  const [are, costs] = ranks.length > 1 ? ['are', 'cost'] : ['is', 'costs'];
  return `${subject} ${are} late${HOW_OFTEN[pattern]} and ${costs} ${cost} per step. Cause: ${why}${unsure}`;
}
