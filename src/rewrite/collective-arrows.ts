import { groupBy } from '../base/group-by.js';
import type { MatchedViews } from '../diagnosis/matched-views.js';
import { COLLECTIVE_KINDS } from '../facts/rank-collectives.js';
import { Category, categoryOf, isGpuWork } from '../model/category.js';
import type { JsonObject } from '../readers/common/json-object.js';
import { onReference } from '../run/collectives/clocks.js';
import { communicationSource } from '../traces/kernels/classify.js';
import { wordOf } from './event-text.js';

/** One end or a middle of an arrow, on the slice that was asked about. */
export interface ArrowEnd {
  readonly id: number;
  readonly phase: 's' | 't' | 'f';
  readonly name: string;
  /** When the rank came, ns of its trace. In a slice of the host, that may be after its start. */
  readonly at: number;
}

/** Arrows of one rank. `start` and `end`: ns of its trace. */
export type RankArrows = (value: JsonObject, start: number, end: number) => ArrowEnd | null;

const NO_ARROWS: RankArrows = () => null;
const HOST_SPAN = /^(?:gloo|mpi|ucc):/;

/**
 * An arrow for each matched collective through the slices of its members, from the rank that came first to the one that
 * came last. `isKept`: whether the slice of a collective is written, by the number of its step.
 */
export function collectiveArrows(
  { meeting, comparison }: MatchedViews,
  isKept: (step: number | null, onDevice: boolean) => boolean,
): (rank: number) => RankArrows {
  if (!comparison) return () => NO_ARROWS;
  const { matched, clocks } = comparison;
  const { memberStart, memberRank, memberEntry } = matched;
  const phases = new Uint8Array(memberEntry.length);
  const columns = meeting.map((view) => view.facts.collectives!);
  // In whole ns, as they are written: Perfetto wants the ends of an arrow in order.
  const arrivalOf = (m: number) =>
    Math.round(onReference(clocks.ranks[memberRank[m]!]!, columns[memberRank[m]!]!.start[memberEntry[m]!]!));
  const isWritten = (m: number) => {
    const c = columns[memberRank[m]!]!;
    const entry = memberEntry[m]!;
    return c.timed && isKept(c.steps[c.step[entry]!] ?? null, c.onDevice[entry] === 1);
  };
  for (let i = 0; i < matched.length; i++) {
    const members = Array.from(
      { length: memberStart[i + 1]! - memberStart[i]! },
      (_, k) => memberStart[i]! + k,
    );
    if (!members.every(isWritten) || clocks.contradicted[i] === 1) continue;
    const inOrder = members.sort((a, b) => arrivalOf(a) - arrivalOf(b));
    for (const m of inOrder) phases[m] = MIDDLE;
    phases[inOrder[0]!] = FIRST;
    phases[inOrder.at(-1)!] = LAST;
  }
  const instanceOf = new Uint32Array(memberEntry.length);
  for (let i = 0; i < matched.length; i++) instanceOf.fill(i, memberStart[i]!, memberStart[i + 1]!);
  const drawn = [...phases.keys()].filter((m) => phases[m] !== 0);
  const byRank = groupBy(drawn, (m) => matched.ranks[memberRank[m]!]!);
  return (rank) => {
    // A kernel is found by its start. A host collective counts from when it could start, so it is found by its end.
    const [byStart, byEnd] = [new Map<number, number[]>(), new Map<number, number[]>()];
    const columnsOf = (m: number) => columns[memberRank[m]!]!;
    for (const m of byRank.get(rank) ?? []) {
      const [c, entry] = [columnsOf(m), memberEntry[m]!];
      const [map, time] = c.onDevice[entry] === 1 ? [byStart, c.start[entry]!] : [byEnd, c.end[entry]!];
      const known = map.get(time);
      if (known) known.push(m);
      else map.set(time, [m]);
    }
    const take = (map: Map<number, number[]>, time: number, end: number): ArrowEnd | null => {
      const waiting = map.get(time);
      if (!waiting || waiting.length === 0) return null;
      // Two may start together, such as a send and a receive. A collective of several kernels ends with the last of them.
      const exact = waiting.findIndex((m) => columnsOf(m).end[memberEntry[m]!] === end);
      const [m] = waiting.splice(Math.max(0, exact), 1);
      const id = instanceOf[m!]!;
      const at = columnsOf(m!).start[memberEntry[m!]!]!;
      return { id, phase: PHASES[phases[m!]!]!, name: COLLECTIVE_KINDS[matched.kind[id]!]!, at };
    };
    return (value, start, end) => {
      const name = wordOf(value.name);
      const category = categoryOf(wordOf(value.cat), 'X');
      if (isGpuWork(category))
        return communicationSource(name) === undefined ? null : take(byStart, start, end);
      const isHost = category === Category.annotation || category === Category.cpuOp;
      return isHost && HOST_SPAN.test(name) ? take(byEnd, end, end) : null;
    };
  };
}

const FIRST = 1;
const MIDDLE = 2;
const LAST = 3;
const PHASES = ['', 's', 't', 'f'] as unknown as readonly ArrowEnd['phase'][];
