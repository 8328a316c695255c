import type { Bottleneck } from '../../facts/causes.js';
import type { Words } from './claim.js';

/** How to get an answer when nothing that was passed has one. */
export const MEASURE = 'measure it from start to end: whyslow run -- python train.py';

const LABELS: Readonly<Record<Bottleneck, string>> = {
  gpu: 'GPU-bound',
  compute: 'Compute-bound',
  data: 'Data-bound',
  comms: 'Comms-bound',
  host: 'Host-bound',
  unknown: 'Unknown',
};

/** `Data-bound`, or with `more`: `Data-bound by transforms`. */
export const labelOf = (bottleneck: Bottleneck, more = ''): string => LABELS[bottleneck] + more;

/** `Probably data-bound`. */
export const hedged = (how: 'Probably' | 'Mostly', bottleneck: Bottleneck): string =>
  `${how} ${insideSentence(LABELS[bottleneck])}`;

/** `data-bound`; `GPU-bound` stays as it is. */
export const insideSentence = (label: string): string =>
  /^[A-Z][a-z]/.test(label) ? label[0]!.toLowerCase() + label.slice(1) : label;

export const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

export const words = (label: string, headline: string, ...details: readonly string[]): Words => ({
  label,
  headline,
  details,
});

export const unknown = (headline: string, ...details: readonly string[]): Words =>
  words(LABELS.unknown, headline, ...details);

export const sentenceOf = ({ label, headline, details }: Words): string =>
  [`${label}: ${headline}`, ...details].join('. ');
