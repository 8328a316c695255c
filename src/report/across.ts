import { lateSentence } from '../answers/kit/late-words.js';
import { ns, toMs, toUs } from '../base/units.js';
import type { Comparison } from '../run/compare.js';
import type { ReportCollectives, ReportHeat, ReportRank, ReportStraggler } from './report.js';

/** The parts of the report that come from comparing ranks. */

export function stragglersOf(comparison: Comparison | null): ReportStraggler[] {
  return (comparison?.late ?? []).map((late) => ({
    ranks: late.ranks,
    pattern: late.pattern,
    cause: late.cause,
    cost_ms: toMs(late.cost),
    cost_high_ms: late.mayCost === undefined ? null : toMs(late.mayCost),
    confidence: late.confidence,
    sentence: lateSentence(late),
  }));
}

export function heatOf(comparison: Comparison | null): ReportHeat | null {
  if (!comparison?.table) return null;
  const { table, lateness } = comparison;
  return {
    steps: table.steps,
    rows: table.ranks.map((rank, r) => ({ rank, late_ms: Array.from(lateness[r]!, (t) => toMs(ns(t))) })),
  };
}

/** By rank. */
export function coordinatesOf(comparison: Comparison | null): ReadonlyMap<number, ReportRank['coordinates']> {
  const table = comparison?.table;
  return new Map(table?.ranks.map((rank, i) => [rank, table.coordinates[i] ?? null]));
}

/** By rank. */
export function clocksOf(comparison: Comparison | null): ReadonlyMap<number, ReportRank['clock']> {
  const clocks = new Map<number, ReportRank['clock']>();
  for (const { rank, component, offset, error } of (comparison?.traced ?? comparison)?.clocks.ranks ?? []) {
    if (component !== 0 || clocks.has(rank)) continue;
    clocks.set(rank, { offset_us: toUs(offset), error_us: toUs(error) });
  }
  return clocks;
}

export function collectivesOf(comparison: Comparison | null): ReportCollectives | null {
  if (!comparison) return null;
  const { matched, waits, table } = comparison.traced ?? comparison;
  const steps = table?.steps.length ?? 1;
  const perStep = (total: number, ranks: number) => toMs(ns(total / Math.max(1, ranks) / steps));
  const sumOver = (key: 'exposedWait' | 'exposedTransfer') => waits.ranks.reduce((sum, w) => sum + w[key], 0);
  return {
    matched: matched.length,
    unmatched: matched.unmatched,
    wait_ms: perStep(sumOver('exposedWait'), waits.ranks.length),
    transfer_ms: perStep(sumOver('exposedTransfer'), waits.ranks.length),
    groups: matched.groups.map((group, g) => ({
      name: group.name,
      ranks: group.captured.map((index) => matched.ranks[index]!),
      size: group.size,
      matched: group.instances,
      confidence: group.confidence,
      wait_ms: perStep(waits.groups[g]!.wait, group.captured.length),
      transfer_ms: perStep(waits.groups[g]!.transfer, group.captured.length),
    })),
  };
}
