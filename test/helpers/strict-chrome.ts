import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { groupBy } from '../../src/base/group-by.js';

export interface ChromeEvent {
  readonly ph: string;
  readonly name?: string;
  readonly cat?: string;
  readonly pid?: number | string;
  readonly tid?: number | string;
  readonly ts?: number;
  readonly dur?: number;
  readonly id?: number | string;
  readonly bp?: string;
  readonly args?: Readonly<Record<string, unknown>>;
}

export interface ChromeTrace {
  readonly events: readonly ChromeEvent[];
  readonly fields: Readonly<Record<string, unknown>>;
}

/** Fails where the file is not valid JSON in UTF-8. */
export function readChrome(path: string): ChromeTrace {
  const bytes = readFileSync(path);
  const text = new TextDecoder('utf-8', { fatal: true }).decode(
    path.endsWith('.gz') ? gunzipSync(bytes) : bytes,
  );
  const { traceEvents, ...fields } = JSON.parse(text) as { traceEvents: ChromeEvent[] };
  return { events: traceEvents, fields };
}

/**
 * What Perfetto would drop or complain about, one line each: events that lack a field, times below 0, ids of threads that are no
 * 32 bits, slices that overlap on a track without nesting, `B` without `E`, flows with one end, with two starts,
 * with a start that is not the first, or that are in no slice.
 */
export function faultsOf({ events }: ChromeTrace): string[] {
  const faults: string[] = [];
  // From the first time on: in ns since 1970, doubles are 256 ns apart.
  const first = events.reduce((least, e) => Math.min(least, e.ph === 'M' ? least : (e.ts ?? least)), 1e300);
  const length = (us: number | undefined) => Math.round((us ?? Number.NaN) * 1000);
  const ns = (us: number | undefined) => length((us ?? Number.NaN) - first);
  const trackOf = (e: ChromeEvent) => `${e.pid}/${e.tid}`;
  for (const e of events) {
    if (typeof e.ph !== 'string') faults.push(`no ph: ${JSON.stringify(e)}`);
    if (e.ph !== 'M' && !(Number(e.ts) >= 0)) faults.push(`no ts, or a negative one: ${JSON.stringify(e)}`);
    if (e.ph !== 'M' && (e.pid === undefined || e.tid === undefined))
      faults.push(`no track: ${JSON.stringify(e)}`);
    if (typeof e.tid === 'number' && !(e.tid >= 0 && e.tid < 2 ** 32))
      faults.push(`no id for Perfetto: ${JSON.stringify(e)}`);
    if (e.ph === 'X' && !(Number(e.dur) >= 0)) faults.push(`no dur: ${JSON.stringify(e)}`);
    if (e.ph === 'X' && typeof e.name !== 'string') faults.push(`no name: ${JSON.stringify(e)}`);
  }
  const slices = groupBy(
    events.filter((e) => e.ph === 'X'),
    trackOf,
  );
  for (const [track, list] of slices) {
    list.sort((a, b) => ns(a.ts) - ns(b.ts) || length(b.dur) - length(a.dur));
    const open: number[] = [];
    for (const e of list) {
      while (open.length > 0 && open.at(-1)! <= ns(e.ts)) open.pop();
      const end = ns(e.ts) + length(e.dur);
      if (open.length > 0 && end > open.at(-1)!) faults.push(`overlap on ${track}: ${e.name} at ${e.ts}`);
      else open.push(end);
    }
  }
  const depth = new Map<string, number>();
  for (const e of events) {
    if (e.ph !== 'B' && e.ph !== 'E') continue;
    const now = (depth.get(trackOf(e)) ?? 0) + (e.ph === 'B' ? 1 : -1);
    if (now < 0) faults.push(`E without B on ${trackOf(e)}`);
    depth.set(trackOf(e), now);
  }
  for (const [track, left] of depth) if (left > 0) faults.push(`B without E on ${track}`);
  const flows = events.filter((e) => 'stf'.includes(e.ph));
  for (const [key, list] of groupBy(flows, (e) => `${e.cat} ${e.name} ${e.id}`)) {
    const starts = list.filter((e) => e.ph === 's').length;
    if (starts !== 1 || starts === list.length) faults.push(`flow ${key}: ${list.map((e) => e.ph).join('')}`);
    const inTime = list.toSorted((a, b) => ns(a.ts) - ns(b.ts));
    if (inTime[0]!.ph !== 's') faults.push(`flow ${key} starts after another part of it`);
    for (const e of list) {
      const around = (s: ChromeEvent) => ns(s.ts) <= ns(e.ts) && ns(e.ts) <= ns(s.ts) + length(s.dur);
      if (!sliceAt(slices.get(trackOf(e)) ?? [], e.ts!, around))
        faults.push(`flow ${key} in no slice at ${e.ts}`);
    }
  }
  return faults;
}

/** `list` is in order of start: slices that may be around a time are not far before it. */
function sliceAt(list: readonly ChromeEvent[], time: number, around: (s: ChromeEvent) => boolean): boolean {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (list[middle]!.ts! <= time) low = middle + 1;
    else high = middle;
  }
  for (let i = low - 1; i >= 0; i--) if (around(list[i]!)) return true;
  return false;
}
