import { readFileSync } from 'node:fs';

/** Bytes of address space that are left under `ulimit -v`. Infinity where it is not limited, or not on Linux. */
export function addressSpaceLeft(): number {
  const limit = softLimit('Max address space');
  if (limit === Number.POSITIVE_INFINITY) return limit;
  const used = /^VmSize:\s*(\d+) kB/m.exec(procFile('status'))?.[1];
  return limit - Number(used ?? 0) * 1024;
}

/** A soft limit of this process, by its name in /proc/self/limits. Infinity: none, or not on Linux. */
export function softLimit(name: string): number {
  const value = new RegExp(`^${name}\\s+(\\d+)`, 'm').exec(procFile('limits'))?.[1];
  return value === undefined ? Number.POSITIVE_INFINITY : Number(value);
}

function procFile(name: string): string {
  try {
    return readFileSync(`/proc/self/${name}`, 'latin1');
  } catch {
    return '';
  }
}
