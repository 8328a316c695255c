import { Category } from './category.js';
import type { RowIndex } from './row-index.js';
import type { StringTable } from './string-table.js';
import type { KindInfo, TraceData } from './trace-data.js';

/** A `ProfilerStep#N` span on the *host*. The GPU may be far behind it. */
export interface HostStep {
  /** N. */
  readonly index: number;
  readonly row: number;
  readonly startNs: number;
  readonly endNs: number;
  readonly track: number;
}

/** With so many digits a number is exact; more are no step's. */
const STEP_NAME = /^ProfilerStep#(\d{1,15})$/;

export function findSteps(data: TraceData, strings: StringTable, rows: RowIndex): readonly HostStep[] {
  const steps: HostStep[] = [];
  const onHost = (k: KindInfo) => k.phase === 'X' && k.category !== Category.gpuAnnotation;
  for (const row of rows.named(onHost, (text) => STEP_NAME.test(text))) {
    const startNs = data.ts[row]!;
    if (Number.isNaN(startNs)) continue;
    steps.push({
      index: Number(STEP_NAME.exec(strings.text(data.name[row]!))![1]),
      row,
      startNs,
      endNs: startNs + Math.max(0, data.dur[row]!),
      track: data.track[row]!,
    });
  }
  return steps.sort((a, b) => a.startNs - b.startNs);
}
