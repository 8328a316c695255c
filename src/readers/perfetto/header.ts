import type { ProblemLog } from '../../base/problem.js';
import type { DeviceInfo, TraceHeader } from '../../model/trace-data.js';
import { parseHeader } from '../common/trace-rows/header.js';

/** What is known of the trace as a whole. `arch`: `sm_90`, of the GPUs with these numbers. */
export function headerOf(gpus: ReadonlySet<number>, arch: string, problems: ProblemLog): TraceHeader {
  // The exporter writes no header. Times count from 1970.
  return { ...parseHeader(new Map(), problems), devices: devicesOf(gpus, arch) };
}

/** The exporter writes no names of GPUs, only what they can compute, and that not in all versions. */
function devicesOf(gpus: ReadonlySet<number>, arch: string): readonly DeviceInfo[] {
  const [, major, minor] = /^sm_(\d{1,2})(\d)$/.exec(arch) ?? [];
  return [...gpus]
    .sort((a, b) => a - b)
    .map((id) => ({
      id,
      name: major === undefined ? 'unknown GPU' : `unknown GPU (${arch})`,
      totalMemory: null,
      computeMajor: major === undefined ? null : Number(major),
      computeMinor: minor === undefined ? null : Number(minor),
      multiprocessors: null,
      warpSize: null,
    }));
}
