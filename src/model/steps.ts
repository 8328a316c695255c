import { Category } from './category.js';
import type { StringTable } from './string-table.js';
import type { TraceData } from './trace-data.js';

/** A `ProfilerStep#N` span on the *host*. The GPU may be far behind it. */
export interface HostStep {
  /** N. */
  readonly index: number;
  readonly row: number;
  readonly startNs: number;
  readonly endNs: number;
  readonly track: number;
}

const STEP_NAME = /^ProfilerStep#(\d+)$/;

export function findSteps(data: TraceData, strings: StringTable): readonly HostStep[] {
  const stepIndex = strings.memo((text) => Number(STEP_NAME.exec(text)?.[1] ?? -1));
  const steps: HostStep[] = [];
  for (let row = 0; row < data.rows; row++) {
    const index = stepIndex(data.name[row]!);
    if (index < 0) continue;
    const kind = data.kinds[data.kind[row]!]!;
    if (kind.phase !== 'X' || kind.category === Category.gpuAnnotation) continue;
    const startNs = data.ts[row]!;
    if (Number.isNaN(startNs)) continue;
    steps.push({
      index,
      row,
      startNs,
      endNs: startNs + Math.max(0, data.dur[row]!),
      track: data.track[row]!,
    });
  }
  return steps.sort((a, b) => a.startNs - b.startNs);
}
