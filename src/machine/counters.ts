import type { MachineCounters } from '../model/recording.js';
import { readCpuLimit } from './cgroup.js';
import type { MachineFiles } from './files.js';
import { parseFields, parsePressure, parseReceived, parseRunnable } from './proc-text.js';

const PAGE = 4096;

/** The whole machine at this moment, and the cgroup of one process. */
export function sampleCounters(files: MachineFiles, pid: number | 'self'): MachineCounters {
  const memory = parseFields(files.read('/proc/meminfo'));
  const limit = readCpuLimit(files, pid);
  const pages = parseFields(files.read('/proc/vmstat')).get('pswpin');
  return {
    runnable: parseRunnable(files.read('/proc/loadavg')),
    cpuPressure: parsePressure(files.read('/proc/pressure/cpu')),
    ioPressure: parsePressure(files.read('/proc/pressure/io')),
    memoryPressure: parsePressure(files.read('/proc/pressure/memory')),
    throttled: limit.throttled,
    periods: limit.periods,
    throttledPeriods: limit.throttledPeriods,
    memoryAvailable: memory.get('MemAvailable') ?? null,
    memoryTotal: memory.get('MemTotal') ?? null,
    swappedIn: pages === undefined ? null : pages * PAGE,
    received: parseReceived(files.read(`/proc/${pid}/net/dev`)),
  };
}
