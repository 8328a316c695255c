import { ns, toMs, toUs } from '../base/units.js';
import { lateSentence } from '../diagnosis/words/late-ranks.js';
import type { Comparison } from '../run/compare.js';
import type { ReportCollectives, ReportHeat, ReportRank, ReportStraggler } from './report.js';

/** What several ranks together show, as the report has it. */

export function stragglersOf(comparison: Comparison | null): ReportStraggler[] {
  return (comparison?.late ?? []).map((late) => ({
    ranks: late.ranks,
    pattern: late.pattern,
    cause: late.cause,
    cost_ms: toMs(late.cost),
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

export function coordinatesOf(comparison: Comparison | null, rank: number): ReportRank['coordinates'] {
  const table = comparison?.table;
  const index = table?.ranks.indexOf(rank) ?? -1;
  return table?.coordinates[index] ?? null;
}

export function clockOf(comparison: Comparison | null, rank: number): ReportRank['clock'] {
  const clock = comparison?.clocks.ranks.find((c) => c.rank === rank && c.component === 0);
  return clock ? { offset_us: toUs(clock.offset), error_us: toUs(clock.error) } : null;
}

export function collectivesOf(comparison: Comparison | null): ReportCollectives | null {
  if (!comparison) return null;
  const { matched, waits, table } = comparison;
  const steps = table?.steps.length ?? 1;
  const meanMs = (times: readonly number[], over: number) =>
    toMs(ns(times.reduce((sum, t) => sum + t, 0) / Math.max(1, over) / steps));
  return {
    matched: matched.length,
    unmatched: matched.unmatched,
    wait_ms: meanMs(
      waits.ranks.map((w) => w.exposedWait),
      waits.ranks.length,
    ),
    transfer_ms: meanMs(
      waits.ranks.map((w) => w.exposedTransfer),
      waits.ranks.length,
    ),
    groups: matched.groups.map((group, g) => ({
      name: group.name,
      ranks: group.captured.map((index) => matched.ranks[index]!),
      size: group.size,
      matched: group.instances,
      confidence: group.confidence,
      wait_ms: meanMs([waits.groups[g]!.wait], group.captured.length),
      transfer_ms: meanMs([waits.groups[g]!.transfer], group.captured.length),
    })),
  };
}
