import { formatTime, ms } from '../../base/units.js';
import { CLASS_NAMES, type TimeClass } from '../../facts/time-class.js';
import type { WhatRan } from '../../timeline/what-ran.js';
import { shortKernelName } from '../compare-rows.js';
import { shorten } from '../terminal/text.js';
import { briefText, firstOf } from './lines.js';

const MOST = 10;
/** Names of C++ kernels may fill a page. */
const MOST_NAME = 110;

const nameOf = (name: string) => shorten(shortKernelName(name), MOST_NAME);

/** What ran in a range, as a few lines for a chat. */
export function briefWhatRan(ran: WhatRan): string {
  const { rank, from_ms, to_ms, steps, time, device, host, longest, notes } = ran;
  const split = Object.entries(time)
    .sort((a, b) => b[1] - a[1])
    .map(([name, t]) => `${CLASS_NAMES[name as TimeClass]} ${formatTime(t)}`);
  const named = steps.map((s) => s.step);
  const ofSteps = named.length === 0 ? '' : `, step ${named[0]}${named.length > 1 ? `–${named.at(-1)}` : ''}`;
  return briefText([
    `rank ${rank}, ${from_ms}–${to_ms} ms (${formatTime(ms(to_ms - from_ms))}${ofSteps}): ${split.join(' · ')}`,
    ...(device.length > 0 ? ['On the device:'] : []),
    ...firstOf(device, MOST, (d) => `- ${nameOf(d.name)}: ${formatTime(d.ms)} in ${d.count}`),
    ...(host.length > 0 ? ['On the training threads (a call holds the calls inside it):'] : []),
    ...firstOf(host, MOST, (h) => `- ${nameOf(h.name)}: ${formatTime(h.ms)} in ${h.count}`),
    ...(longest.length > 0 ? ['Longest single pieces:'] : []),
    ...longest.map((l) => `- at ${l.start_ms} ms: ${nameOf(l.name)} for ${formatTime(l.ms)} on ${l.on}`),
    ...notes.map((note) => `note: ${note}`),
  ]);
}
