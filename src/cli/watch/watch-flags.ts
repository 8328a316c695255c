import { type Command, InvalidArgumentError } from 'commander';
import { TRACKERS, type Tracker } from '../../watch/tell/receivers.js';
import { price } from '../common/arguments.js';

/** Whom the watch tells, and what it may do. The same for `watch` and `run --watch`. */
export interface WatchFlags {
  readonly metrics?: string;
  /** Addresses, and names of trackers. */
  readonly notify?: readonly string[];
  readonly onIncident?: string;
  readonly windows?: boolean;
  readonly price?: number;
}

export const addWatchFlags = (command: Command): Command =>
  command
    .option(
      '--metrics <file|port>',
      'write metrics for Prometheus to a file, or serve them on 127.0.0.1:PORT',
      target,
    )
    .option(
      '--notify <where>',
      'send each incident there: an address, which gets it as JSON (Slack shows its text), or wandb or mlflow, if the job has a run there; may be repeated',
      receiver,
    )
    .option(
      '--on-incident <command>',
      'run this shell command for each incident, which it gets as JSON on stdin',
    )
    .option('--price <amount>', 'of a GPU for an hour, e.g. 2.50: what incidents cost per day', price);

function target(text: string): string {
  if (text === '') throw new InvalidArgumentError('It must be a file or a port.');
  if (/^\d+$/.test(text) && !(Number(text) >= 1 && Number(text) <= 65_535))
    throw new InvalidArgumentError('A port is between 1 and 65535.');
  return text;
}

function receiver(text: string, before: readonly string[] = []): readonly string[] {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (!isTracker(text) && url?.protocol !== 'http:' && url?.protocol !== 'https:')
    throw new InvalidArgumentError('It must be wandb, mlflow, or begin with http:// or https://.');
  return [...before, text];
}

export const isTracker = (text: string): text is Tracker => TRACKERS.some((name) => name === text);

/** The same flags for another whyslow. */
export const asArguments = ({ metrics, notify, onIncident, price }: WatchFlags): string[] => [
  ...(metrics === undefined ? [] : ['--metrics', metrics]),
  ...(notify ?? []).flatMap((where) => ['--notify', where]),
  ...(onIncident === undefined ? [] : ['--on-incident', onIncident]),
  ...(price === undefined ? [] : ['--price', `${price}`]),
];
