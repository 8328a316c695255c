import { Category } from './category.js';
import type { StringTable } from './string-table.js';
import type { TraceData } from './trace-data.js';

/** A `ProfilerStep#N` span. It is a span of the *host*: the GPU may be far behind it. */
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
  const indexOf = new Map<number, number>();
  for (const id of strings.idsWhere((text) => STEP_NAME.test(text))) {
    indexOf.set(id, Number(STEP_NAME.exec(strings.text(id))![1]));
  }
  if (indexOf.size === 0) return [];
  const isStepName = new Uint8Array(strings.size);
  for (const id of indexOf.keys()) isStepName[id] = 1;
  const steps: HostStep[] = [];
  for (let row = 0; row < data.rows; row++) {
    const name = data.name[row]!;
    if (isStepName[name] === 0) continue;
    const kind = data.kinds[data.kind[row]!]!;
    if (kind.phase !== 'X' || kind.category === Category.gpuAnnotation) continue;
    const startNs = data.ts[row]!;
    if (Number.isNaN(startNs)) continue;
    steps.push({
      index: indexOf.get(name)!,
      row,
      startNs,
      endNs: startNs + Math.max(0, data.dur[row]!),
      track: data.track[row]!,
    });
  }
  return steps.sort((a, b) => a.startNs - b.startNs);
}
