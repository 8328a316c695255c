import { isOneEditAway } from '../base/one-edit.js';
import { largest } from '../base/statistics.js';
import type { Environment } from './environment.js';

/** Settings of whyslow_capture (config.py; a test compares them). `trace.period` is WHYSLOW_TRACE_PERIOD. */
export const SETTINGS: readonly string[] = [
  'enabled',
  'out',
  'ranks',
  'start_step',
  'end_step',
  'record_every_n_steps',
  'spread_steps',
  'flush_every_n_steps',
  'max_overhead',
  'resume_step',
  'auto_phases',
  'hooks',
  'control',
  'stacks',
  'stuck_after',
  'memory',
  'verdict',
  'log_to',
  'run',
  'trace.enabled',
  'trace.period',
  'trace.warmup',
  'trace.active',
  'trace.repeat',
  'trace.ranks',
  'trace.target',
  'trace.record_shapes',
  'trace.with_flops',
  'trace.with_stack',
  'trace.profile_memory',
  'trace.budget_mb',
  'trace.format',
];
const PREFIX = 'WHYSLOW_';
const VARIABLES = SETTINGS.map((name) => PREFIX + name.replace('.', '_').toUpperCase());
/** Of the program itself. `run` sets the later ones for the job, and may itself be started by a `run`. */
const OTHERS = [
  'TRACE',
  'CONFIG',
  'DEBUG',
  'NODE',
  'INJECT',
  'PYTHON',
  'COMMAND',
  'LAUNCH',
  'TRIAL',
  'SHARE',
].map((name) => PREFIX + name);
const MAX_MEANT = 2;
/** Shorter words are in too many names. */
const LEAST_WORD = 4;

/** One message for each variable that looks like a setting and is none: nobody would notice that it does nothing. */
export function unknownVariables(env: Environment): readonly string[] {
  return Object.keys(env)
    .filter((name) => name.startsWith(PREFIX) && !VARIABLES.includes(name) && !OTHERS.includes(name))
    .map((name) => {
      const meant = meantBy(name);
      const hint = meant.length > 0 ? ` (did you mean ${meant.join(' or ')}?)` : '';
      return `${name} is not a setting and has no effect${hint}`;
    });
}

/** The settings that share most words with it, perhaps with a letter wrong. */
function meantBy(name: string): readonly string[] {
  const words = wordsOf(name).filter((word) => word.length >= LEAST_WORD);
  const shared = (variable: string) =>
    words.filter((word) => wordsOf(variable).some((known) => isOneEditAway(known, word))).length;
  const most = largest(VARIABLES.map(shared));
  return most === 0 ? [] : VARIABLES.filter((variable) => shared(variable) === most).slice(0, MAX_MEANT);
}

/** Without the plural, which is easily forgotten. */
const wordsOf = (variable: string) =>
  variable
    .slice(PREFIX.length)
    .split('_')
    .map((word) => word.replace(/S$/, ''));
