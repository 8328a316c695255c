import { callName } from '../answers/kit/hang-words.js';
import { fullest, gpuName, memoryInWords } from '../answers/kit/memory-words.js';
import { largest } from '../base/statistics.js';
import { MEMORY_KINDS, type RunEvidence } from '../diagnosis/run-evidence.js';
import type { MemoryOnPage, WaitsOnPage } from './page-data.js';

const MAX_LINES = 5;
const MAX_WAITS = 24;

/** What holds the fullest GPU at its peak, and over time. Null: no memory snapshot. */
export function memoryOnPage({ memory }: Pick<RunEvidence, 'memory'>): MemoryOnPage | null {
  const worst = fullest(memory);
  if (!worst) return null;
  const { at, overTime } = worst.facts;
  const sums = overTime.seconds.map((_, i) => overTime.kinds.reduce((sum, kind) => sum + kind[i]!, 0));
  return {
    title: memoryInWords(worst, memory),
    who: gpuName(worst, memory),
    parts: at.parts.map(({ kind, bytes, lines }) => ({ kind, bytes, lines: lines.slice(0, MAX_LINES) })),
    kinds: MEMORY_KINDS,
    most: largest([at.allocated, ...sums]),
    slices: sums.map((_, i) => overTime.kinds.map((kind) => kind[i]!)),
    seconds: overTime.seconds.at(-1) ?? 0,
  };
}

/** Who waits for whom. Null: no dump shows it. */
export function waitsOnPage({ hang }: Pick<RunEvidence, 'hang'>): WaitsOnPage | null {
  if (!hang || hang.waits.length === 0) return null;
  return {
    culprits: hang.culprits.map((c) => c.rank),
    waits: hang.waits.slice(0, MAX_WAITS).map(({ ranks, on, call }) => ({ ranks, on, call: callName(call) })),
  };
}
