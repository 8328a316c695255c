import type { TimeClass } from '../../src/facts/time-class.js';
import type { Lever } from '../../src/page/what-if.js';
import type { Cost, Risk } from '../../src/remedies/kit/remedy.js';
import { CLASS_NAMES } from '../../src/render/step-time.js';
import type { Finding } from '../../src/rules/kit/finding.js';

/** One line for each class of time, for people who see the names for the first time. */
const CLASS_MEANINGS: Readonly<Record<TimeClass, string>> = {
  compute: 'kernels run on the GPU',
  comms_transfer: 'data moves between ranks, with nothing computed meanwhile',
  comms_wait: 'this rank has arrived at a collective and waits for a late one',
  copy: 'copies and fills, with nothing computed meanwhile',
  idle_data: 'the GPU is idle: the next batch is not there',
  idle_sync: 'the GPU is idle: the host had waited for it to finish',
  idle_compile: 'the GPU is idle: the host compiles',
  idle_comms: 'the GPU is idle: the host waits in a collective',
  idle_host: 'the GPU is idle: the host has not launched the next kernel yet',
  idle_other: 'the GPU is idle for another reason',
};

/** The same for a job without a GPU. */
const HOST_MEANINGS: Partial<Record<TimeClass, string>> = {
  compute: 'operators compute on the host',
  idle_data: 'the next batch is not there',
  idle_compile: 'the host compiles',
  idle_comms: 'the host waits in a collective',
  idle_host: 'Python, and whatever else no operator covers',
  idle_other: 'for another reason',
};

export const classMeaning = (c: TimeClass, hasGpu: boolean): string =>
  (hasGpu ? undefined : HOST_MEANINGS[c]) ?? CLASS_MEANINGS[c];

/** Classes with a pale color: text on them is dark. */
export const PALE: ReadonlySet<TimeClass> = new Set([
  'comms_wait',
  'idle_data',
  'idle_compile',
  'idle_comms',
  'idle_host',
  'idle_other',
]);

/** As a heading: `Input wait`. */
export const className = (c: TimeClass): string => sentenceCase(CLASS_NAMES[c]);
/** Identifiers such as `num_workers=0` stay as they are. */
export const sentenceCase = (text: string): string =>
  /^[a-z]+(?:[ ,’-]|$)/.test(text) ? text.charAt(0).toUpperCase() + text.slice(1) : text;

/** The CSS variable with the color of a class. */
export const classColor = (c: TimeClass): string => `--c-${c.replace('_', '-')}`;

export const COST_WORDS: Readonly<Record<Cost, string>> = {
  free: 'a flag at start-up',
  knob: 'one argument',
  code: 'code change',
  hardware: 'different hardware',
};

/** How to check that the result is still right. */
export const CHECKS: Readonly<Record<Risk, string>> = {
  none: 'The fix does not change what the model computes.',
  memory: 'The fix needs more memory. Watch the memory of host and GPU over the first steps.',
  numerics:
    'The fix changes rounding. Train a few hundred steps with and without it from the same seed: the losses should differ no more than those of two seeds do.',
  data: 'The fix changes how the model is fed. Check that an epoch still has every sample once, and that the loss falls as before.',
};

export const LEVER_NAMES: Readonly<Record<Lever, string>> = {
  data: 'Waiting for input',
  host: 'Host time: Python and launches',
  sync: 'The host waits for the GPU',
  compile: 'Compiling',
  comms: 'Communication',
  copy: 'Copies',
  compute: 'Kernels',
};

/** `high`, `medium`, `low`: the same bounds as in the terminal. */
export const confidenceWord = (confidence: number): 'high' | 'medium' | 'low' =>
  confidence >= 0.8 ? 'high' : confidence >= 0.5 ? 'medium' : 'low';

export const addressesTime = ({ addresses }: Finding): boolean => addresses !== null;
