import { type Share, share } from '../base/units.js';
import { INPUT_KINDS, type InputKind } from '../facts/rank-facts.js';
import { type TimeByClass, totals } from '../facts/time-class.js';
import type { EventLogHeader } from '../model/event-log.js';

/** Input that the loop makes itself, without a DataLoader: how much of the training time, and the line that makes it. */
export interface SampledInput {
  readonly share: Share;
  readonly line: string;
  readonly kind: InputKind;
}

/** With fewer samples of training the share is a guess. */
const ENOUGH = 40;
/** A smaller share is within the error of the samples. */
const LEAST = 0.05;
/** A generator that holds nearly all of the time does not only make batches: it trains. */
const MOST = 0.95;
const MAX_TEXT = 120;

/** From the stack samples of capture. Null: the loop waits for no iterable of its own, as far as they show. */
export function sampledInput(header: EventLogHeader | null): SampledInput | null {
  const value = header?.fields.input;
  if (typeof value !== 'object' || value === null) return null;
  const { samples, of, file, line, source, kind: given } = value as Readonly<Record<string, unknown>>;
  if (typeof samples !== 'number' || typeof of !== 'number' || !(of >= ENOUGH) || !(samples >= 0))
    return null;
  const part = samples / of;
  const kind = INPUT_KINDS.find((known) => known === given) ?? 'generator';
  if (!(part >= LEAST && part <= (kind === 'generator' ? MOST : 1))) return null;
  const place = `${String(file).slice(0, MAX_TEXT)}:${Number(line) || 0}`;
  const code = typeof source === 'string' && source !== '' ? ` (${source.slice(0, MAX_TEXT)})` : '';
  return { share: share(part), line: place + code, kind };
}

/** Time outside all phases that samples show to be input. What the device computes meanwhile is no wait. */
export function withInput(time: TimeByClass, step: number, part: Share): TimeByClass {
  const other = Math.min(time.idle_other, part * step);
  const host = Math.min(time.idle_host, part * step - other);
  const taken = { idle_other: -other, idle_host: -host, idle_data: other + host };
  return totals((c) => time[c] + (taken[c as keyof typeof taken] ?? 0));
}
