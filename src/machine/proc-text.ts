import type { ThreadSample } from '../model/recording.js';

/** What the kernel prints in /proc, parsed. Fields that are missing become null. */

/** Clock ticks per second in /proc: USER_HZ is 100 on every Linux. */
const TICKS = 100;

export interface ProcStat {
  readonly name: string;
  readonly state: string;
  readonly parent: number;
  readonly majorFaults: number;
  readonly cpu: number;
}

/** `/proc/PID/stat`. The name, in parentheses, may hold anything, parentheses too. Null: not such a line. */
export function parseStat(text: string): ProcStat | null {
  const open = text.indexOf('(');
  const close = text.lastIndexOf(')');
  const fields = text.slice(close + 2).split(' ');
  if (open < 0 || close < open || fields.length < 13) return null;
  const [state = '?', parent, , , , , , , , majorFaults, , user, system] = fields;
  return {
    name: text.slice(open + 1, close),
    state,
    parent: Number(parent),
    majorFaults: count(majorFaults) ?? 0,
    cpu: ((count(user) ?? 0) + (count(system) ?? 0)) / TICKS,
  };
}

/** A thread from its `stat` and `schedstat`, which is exact where `stat` counts ticks. */
export function threadOf(id: number, stat: ProcStat, schedstat: string | null): ThreadSample {
  const [ran, waited] = (schedstat ?? '').split(' ').map(count);
  const isExact = typeof ran === 'number' && typeof waited === 'number' && schedstat!.trim() !== '0 0 0';
  return {
    id,
    name: stat.name,
    state: stat.state,
    cpu: isExact ? ran / 1e9 : stat.cpu,
    delayed: isExact ? waited / 1e9 : null,
  };
}

/** Lines `name: 12 kB`, `name 12` as numbers by name; kB become bytes. */
export function parseFields(text: string | null): ReadonlyMap<string, number> {
  const fields = new Map<string, number>();
  for (const line of (text ?? '').split('\n')) {
    const [, name, value, unit] = /^([\w().]+):?\s+(\d+)(?:\s+(kB))?\s*$/.exec(line) ?? [];
    if (name !== undefined) fields.set(name, Number(value) * (unit ? 1024 : 1));
  }
  return fields;
}

/** Seconds in which some task waited, from `/proc/pressure/*`. */
export function parsePressure(text: string | null): number | null {
  const total = count(/^some .*total=(\d+)/m.exec(text ?? '')?.[1]);
  return total === null ? null : total / 1e6;
}

/** Threads that want to run now, from `/proc/loadavg`: `0.5 0.4 0.3 2/345 999`. */
export const parseRunnable = (text: string | null): number | null =>
  count(/^\S+ \S+ \S+ (\d+)\//.exec(text ?? '')?.[1]);

/** Bytes received on all interfaces but loopback, from `/proc/net/dev`. */
export function parseReceived(text: string | null): number | null {
  const bytes = [...(text ?? '').matchAll(/^[ \t]*([^\s:]+):[ \t]*(\d+)/gm)].filter(
    ([, name]) => name !== 'lo',
  );
  return bytes.length === 0 ? null : bytes.reduce((sum, [, , value]) => sum + Number(value), 0);
}

/** Of all CPUs, from `/proc/stat`, in seconds since the start of the machine. */
export function parseCpuTime(text: string | null): {
  readonly cpuUsed: number | null;
  readonly cpuStolen: number | null;
} {
  const fields =
    /^cpu\s+([\d ]+)/m
      .exec(text ?? '')?.[1]
      ?.split(' ')
      .map(Number) ?? [];
  const [user, nice, system, , , irq, softirq, stolen] = fields;
  // Some sandboxes write zeros.
  if (stolen === undefined || !fields.some((n) => n > 0)) return { cpuUsed: null, cpuStolen: null };
  return { cpuUsed: (user! + nice! + system! + irq! + softirq!) / TICKS, cpuStolen: stolen / TICKS };
}

/** How many CPUs a list such as `0-3,8` has. */
export function countCpus(list: string | null | undefined): number | null {
  const parts = (list ?? '').trim().split(',');
  let cpus = 0;
  for (const part of parts) {
    const [, first, last = first] = /^(\d+)(?:-(\d+))?$/.exec(part) ?? [];
    if (first === undefined) return null;
    cpus += Number(last) - Number(first) + 1;
  }
  return cpus;
}

export const zeroSeparated = (text: string | null): string[] => (text ?? '').split('\0').filter(Boolean);

function count(text: string | undefined): number | null {
  return text !== undefined && /^\d+$/.test(text.trim()) ? Number(text) : null;
}
