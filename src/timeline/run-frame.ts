import type { Diagnosis } from '../answers/diagnosis.js';
import { namedRanks } from '../base/rank-ranges.js';
import type { WaitedCollectives } from '../drawing/collectives.js';
import { type Counter, telemetryCounters } from '../drawing/counters.js';
import type { DrawnSteps } from '../drawing/draw-trace.js';
import { type RunClock, runClocks, toRun } from '../drawing/run-clocks.js';
import type { Arrow, PathPiece, RankLine, TimelinePoint, TimelineTracks } from '../drawing/timeline.js';
import { isTraceInput, manifestOf, type TraceInput } from '../ingest/input.js';
import type { Comparison } from '../run/compare.js';

/** What all ranks of a timeline share: one clock, one line for each, who waited for whom. */
export interface RunFrame {
  /** By rank, in order. */
  readonly members: ReadonlyMap<number, TraceInput>;
  readonly lines: ReadonlyMap<number, RankLine>;
  readonly clocks: ReadonlyMap<number, RunClock>;
  readonly waited: ReadonlyMap<number, WaitedCollectives>;
  /** What nvidia-smi recorded, on the clock of the rank's trace. */
  readonly telemetry: ReadonlyMap<number, readonly Counter[]>;
  /** The comparison that `waited` is of. */
  readonly comparison: Comparison | null;
  readonly tracks: TimelineTracks;
}

/** What every drawing has, whole or bounded. */
interface Drawn {
  readonly from: number;
  readonly to: number;
  readonly baseNs: bigint;
  readonly steps: DrawnSteps;
}

const drawnOf = (member: TraceInput): Drawn | null => member.drawing ?? member.bounded;

export function runFrame(diagnosis: Diagnosis): RunFrame {
  const { members, notes } = drawableMembers(diagnosis);
  const comparison = diagnosis.comparison?.traced ?? diagnosis.comparison;
  const waited = waitedCollectives(diagnosis, comparison);
  const compared = (comparison?.clocks.ranks ?? []).filter((c) => waited.has(c.rank));
  const recorded = [...members].map(([rank, member]) => {
    const { from, baseNs } = drawnOf(member)!;
    return { rank, from, baseNs };
  });
  const { clocks, unaligned } = runClocks(recorded, compared);
  const lines = [...members].map(([rank, member]) =>
    lineOf(rank, drawnOf(member)!, clocks.get(rank)!, diagnosis),
  );
  if (unaligned.length > 0)
    notes.push(`The clocks of ${namedRanks(unaligned)} could not be aligned: they begin with the others.`);
  return {
    members,
    lines: new Map(lines.map((l) => [l.rank, l])),
    clocks,
    waited,
    telemetry: telemetryOf(diagnosis, members),
    comparison,
    tracks: { from: 0, to: lines.reduce((to, l) => Math.max(to, l.to), 0), ranks: lines, notes },
  };
}

/** The critical path on the run's clock. */
export function pathOf({ comparison, clocks, waited }: RunFrame): PathPiece[] {
  return (comparison?.path?.pieces ?? []).flatMap(({ rank, from, to }) => {
    const clock = clocks.get(rank);
    return clock && waited.has(rank) ? [{ rank, from: toRun(clock, from), to: toRun(clock, to) }] : [];
  });
}

/** Of ranks whose GPU is known. */
function telemetryOf({ inputs, locations }: Diagnosis, members: RunFrame['members']) {
  const manifests = inputs.beside.flatMap((m) => manifestOf(m) ?? []);
  const startedNs = manifests.find((m) => m.of === 'run')?.startedNs ?? null;
  const logs = inputs.beside.map((m) => m.evidence);
  return new Map(
    [...members].flatMap(([rank, member]) => {
      const state = locations.gpus.get(rank);
      const log = logs.find((l) => state && l.series && l.gpus?.includes(state));
      if (!state || !log?.telemetry) return [];
      const counters = telemetryCounters(
        log.telemetry,
        log.gpus!.indexOf(state),
        drawnOf(member)!,
        startedNs,
      );
      return [[rank, counters] as const];
    }),
  );
}

/** One trace of each rank. */
function drawableMembers({ members }: Diagnosis) {
  const drawable = new Map<number, TraceInput>();
  const notes: string[] = [];
  for (const member of members.toSorted((a, b) => a.rank - b.rank)) {
    const { rank } = member;
    if (!isTraceInput(member) || !drawnOf(member)) continue;
    if (drawable.has(rank)) notes.push(`Rank ${rank} has several traces: ${member.path} is not drawn.`);
    else drawable.set(rank, member);
  }
  return { members: drawable, notes };
}

/** Collectives of traces, with waits where ranks were compared by them. */
function waitedCollectives({ views }: Diagnosis, comparison: Comparison | null) {
  return new Map(
    views.flatMap(({ rank, source, facts: { collectives } }) => {
      if (source !== 'trace' || !collectives?.timed) return [];
      const waitOf = comparison?.waits.waitOf[comparison.matched.ranks.indexOf(rank)] ?? null;
      // Waits of the rank's log have other entries.
      return [
        [rank, { collectives, waitOf: waitOf?.length === collectives.length ? waitOf : null }] as const,
      ];
    }),
  );
}

function lineOf(rank: number, drawn: Drawn, clock: RunClock, { locations, comparison }: Diagnosis): RankLine {
  const host = locations.ranks.get(rank)?.host;
  const { number, from, to } = drawn.steps;
  return {
    rank,
    title: host ? `Rank ${rank} · ${host}` : `Rank ${rank}`,
    late: comparison?.late.some((l) => l.ranks.includes(rank)) ?? false,
    begin: toRun(clock, 0),
    from: toRun(clock, drawn.from),
    to: toRun(clock, drawn.to),
    steps: Array.from(number, (n, i) => ({
      number: n,
      from: toRun(clock, from[i]!),
      to: toRun(clock, to[i]!),
    })),
  };
}

/** Shorter waits are no reason to look. ns. */
const LEAST_WAIT = 10_000;

/** Where a collective of a rank is drawn. Null: it is not. */
type RowOf = (rank: number, entry: number) => { readonly track: number; readonly row: number } | null;

/** From the rank that came last to a collective to the ranks that waited for it. The longest waits of the range first. */
export function lateArrows(
  { comparison, waited, clocks }: RunFrame,
  rowOf: RowOf,
  { from, to }: { readonly from: number; readonly to: number },
  most: number,
): Arrow[] {
  if (!comparison) return [];
  const { length, memberStart, memberRank, memberEntry, ranks } = comparison.matched;
  const found: { readonly arrow: Arrow; readonly wait: number }[] = [];
  /** Where the rank stopped waiting: it is there, and all others are. */
  const arrival = (rank: number, entry: number): TimelinePoint | null => {
    const place = rowOf(rank, entry);
    const own = waited.get(rank);
    if (!place || !own?.waitOf) return null;
    const time = own.collectives.start[entry]! + (own.waitOf[entry] || 0);
    return { rank, ...place, time: toRun(clocks.get(rank)!, time) };
  };
  for (let i = 0; i < length; i++) {
    const late = comparison.waits.late[i]!;
    if (late < 0) continue;
    const members = memberRank.subarray(memberStart[i]!, memberStart[i + 1]!);
    const source = arrival(ranks[late]!, memberEntry[memberStart[i]! + members.indexOf(late)]!);
    if (!source || source.time > to) continue;
    for (let m = memberStart[i]!; m < memberStart[i + 1]!; m++) {
      const [rank, entry] = [ranks[memberRank[m]!]!, memberEntry[m]!];
      const wait = waited.get(rank)?.waitOf?.[entry] ?? 0;
      if (memberRank[m] === late || !(wait >= LEAST_WAIT)) continue;
      const target = arrival(rank, entry);
      if (target && target.time >= from)
        found.push({ arrow: { kind: 'late', from: source, to: target }, wait });
    }
  }
  found.sort((a, b) => b.wait - a.wait);
  return found.slice(0, most).map((f) => f.arrow);
}
