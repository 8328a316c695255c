import { COLLECTIVE_KINDS, type RankCollectives } from '../facts/rank-collectives.js';
import type { RankFacts } from '../facts/rank-facts.js';
import { TIME_CLASSES } from '../facts/time-class.js';
import type { Finding } from '../rules/kit/finding.js';
import { busFactor } from '../run/collectives/bandwidth.js';
import type { RunClock } from '../run/collectives/clocks.js';
import type { Comparison } from '../run/compare.js';
import type { RowSink } from './trace-rows.js';

/** Steps of a rank that has an event log or a facts file, but no trace. */
export function addStepsOf(
  source: 'log' | 'facts',
  rank: number,
  host: string | null,
  facts: RankFacts,
  add: RowSink,
): void {
  facts.steps.indices.forEach((step, i) => {
    const time = facts.timePerStep[i];
    const head = [rank, host, step, source, null, facts.steps.periods[i]! / 1e6];
    add([...head, ...TIME_CLASSES.map((c) => (time ? time[c] / 1e6 : null)), null]);
  });
}

/** The collectives of one rank, and what the comparison of ranks says about each. */
export function addCollectives(
  rank: number,
  c: RankCollectives,
  clock: RunClock,
  matches: RankMatches,
  add: RowSink,
): void {
  for (let i = 0; i < c.length; i++) {
    const group = c.groups[c.group[i]!]!;
    const kind = COLLECTIVE_KINDS[c.kind[i]!]!;
    const duration = c.end[i]! - c.start[i]!;
    const match = matches(i);
    const transfer = match && !Number.isNaN(match.wait) ? duration - match.wait : Number.NaN;
    // A byte per nanosecond is a GB/s.
    const speed = (busFactor(kind, group.size ?? Number.NaN) * c.bytes[i]!) / transfer;
    add([
      rank,
      c.steps[c.step[i]!] ?? null,
      c.timed ? clock.toRun(c.baseNs, c.start[i]!) : null,
      duration / 1e3,
      match?.collective ?? null,
      kind,
      group.name,
      group.size,
      c.sequence[i]!,
      c.peer[i]! < 0 ? null : c.peer[i]!,
      c.bytes[i]!,
      c.dtypes[c.dtype[i]!] || null,
      c.onDevice[i] === 1,
      c.exposed[i]! / 1e3,
      match ? match.wait / 1e3 : null,
      transfer / 1e3,
      match?.lateRank ?? null,
      speed,
    ]);
  }
}

interface Match {
  readonly collective: number;
  /** ns. NaN: not divided. */
  readonly wait: number;
  readonly lateRank: number | null;
}

/** What is known about an entry of a rank's collectives. Null: it has no partner. */
export type RankMatches = (entry: number) => Match | null;

/** Looks up matches by the index of a rank in the comparison. */
export function matchesOf(comparison: Comparison | null): (index: number) => RankMatches {
  if (!comparison) return () => () => null;
  const { matched, waits } = comparison;
  const instanceOf = waits.waitOf.map((entries) => new Int32Array(entries.length).fill(-1));
  for (let i = 0; i < matched.length; i++) {
    for (let m = matched.memberStart[i]!; m < matched.memberStart[i + 1]!; m++)
      instanceOf[matched.memberRank[m]!]![matched.memberEntry[m]!] = i;
  }
  return (index) => (entry) => {
    const collective = instanceOf[index]?.[entry] ?? -1;
    if (collective < 0) return null;
    const late = waits.late[collective]!;
    return { collective, wait: waits.waitOf[index]![entry]!, lateRank: matched.ranks[late] ?? null };
  };
}

export function addFindings(findings: readonly Finding[], add: RowSink): void {
  findings.forEach((f, i) => {
    add([
      i + 1,
      f.rule,
      f.id,
      f.title,
      f.cost,
      f.risk,
      f.speedup?.low ?? null,
      f.speedup?.likely ?? null,
      f.speedup?.high ?? null,
      f.saving_ms,
      f.confidence,
      f.ranks.join(', '),
      f.evidence.map((e) => e.text).join('\n'),
      f.fix.text,
      f.fix.code,
    ]);
  });
}
