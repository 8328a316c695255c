import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cases } from '../../../test/helpers/cases.js';
import type { DumpedCall } from '../../model/flight-dump.js';
import { hangOf } from './hang.js';
import type { RankDump } from './progress.js';

/** A job of tensor × data × pipeline parallelism: `rank = (stage * data + d) * tensor + t`. */
interface Layout {
  readonly tensor: number;
  readonly data: number;
  readonly stages: number;
}
type Fault = 'host stops' | 'host stops, empty dump' | 'GPU stops';

interface Op {
  readonly group: string;
  readonly name: string;
  /** Position in the group. */
  readonly peer: number | null;
}

const place = (rank: number, { tensor, data }: Layout) => ({
  t: rank % tensor,
  d: Math.floor(rank / tensor) % data,
  s: Math.floor(rank / (tensor * data)),
});

function groupsOf(layout: Layout): ReadonlyMap<string, readonly number[]> {
  const groups = new Map<string, number[]>();
  const world = layout.tensor * layout.data * layout.stages;
  for (let rank = 0; rank < world; rank++) {
    const { t, d, s } = place(rank, layout);
    for (const name of [`tp ${d} ${s}`, `dp ${t} ${s}`, `pp ${t} ${d}`])
      groups.set(name, [...(groups.get(name) ?? []), rank]);
  }
  return groups;
}

/** One step of a rank: forward through the pipeline, backward, then gradients. */
function stepOf(rank: number, layout: Layout): readonly Op[] {
  const { t, d, s } = place(rank, layout);
  const tensor = (name: string): Op[] =>
    layout.tensor > 1 ? [{ group: `tp ${d} ${s}`, name, peer: null }] : [];
  const data = (name: string): Op[] => (layout.data > 1 ? [{ group: `dp ${t} ${s}`, name, peer: null }] : []);
  const p2p = (name: string, other: number): Op[] =>
    other < 0 || other >= layout.stages ? [] : [{ group: `pp ${t} ${d}`, name, peer: other }];
  return [
    ...p2p('recv', s - 1),
    ...tensor('all_gather'),
    ...tensor('reduce_scatter'),
    ...p2p('send', s + 1),
    ...p2p('recv', s + 1),
    ...tensor('all_gather'),
    ...tensor('reduce_scatter'),
    ...p2p('send', s - 1),
    ...data('all_reduce'),
  ];
}

/** Calls that a host enters before its GPU has done them. */
const AHEAD = 12;
const STEPS = 6;

/** Runs the job until nothing moves; `faults` stop ranks when they come to that call. */
function dumpsOf(
  layout: Layout,
  faults: ReadonlyMap<number, { readonly at: number; readonly fault: Fault }>,
) {
  const world = layout.tensor * layout.data * layout.stages;
  const groups = groupsOf(layout);
  const programs = Array.from({ length: world }, (_, r) =>
    Array.from({ length: STEPS }, () => stepOf(r, layout)).flat(),
  );
  const entered = new Array<number>(world).fill(0);
  const done = new Array<number>(world).fill(0);
  const stopped = new Set<number>();
  /**
   * The GPU of the rank is at its next call and waits there. One that stops has still done its part of the call, so that the
   * others finish it, and has not recorded it.
   */
  const isAt = (r: number) => {
    const fault = faults.get(r);
    return done[r]! < entered[r]! && !(fault?.fault === 'GPU stops' && done[r]! > fault.at);
  };
  const next = (r: number) => programs[r]![done[r]!]!;
  for (let moved = true; moved; ) {
    moved = false;
    for (let r = 0; r < world; r++) {
      const fault = faults.get(r);
      const limit = Math.min(
        programs[r]!.length,
        done[r]! + AHEAD,
        fault && fault.fault !== 'GPU stops' ? fault.at : Infinity,
      );
      if (fault && (fault.fault === 'GPU stops' ? done[r]! > fault.at : entered[r] === fault.at))
        stopped.add(r);
      if (entered[r]! < limit) {
        entered[r]!++;
        moved = true;
      }
    }
    for (let r = 0; r < world; r++) {
      if (!isAt(r)) continue;
      const { group, peer, name } = next(r);
      const members = groups.get(group)!;
      const all = peer === null ? members : [r, members[peer]!];
      const fits = all.every((m) => {
        if (!isAt(m)) return false;
        const own = next(m);
        if (own.group !== group) return false;
        return peer === null
          ? own.peer === null
          : m === r || (own.name !== name && members[own.peer ?? -1] === r);
      });
      if (!fits) continue;
      for (const m of all) done[m]!++;
      moved = true;
    }
  }
  const dumps = programs.map((program, rank): RankDump => {
    const counts = new Map<string, number>();
    const fault = faults.get(rank);
    const calls = program.slice(0, entered[rank]).map((op, i): DumpedCall => {
      const key = op.peer === null ? op.group : `${op.group} p2p`;
      counts.set(key, (counts.get(key) ?? 0) + 1);
      return {
        ...op,
        description: op.group,
        sequence: counts.get(key)!,
        sizes: '[[8]]',
        types: 'Float',
        isDone: i < done[rank]! - (fault?.fault === 'GPU stops' && done[rank]! > fault.at ? 1 : 0),
        enteredNs: 1e18 + i * 1e6 + rank,
        durationMs: null,
        calledFrom: null,
      };
    });
    const own = [...groups].filter(([, members]) => members.includes(rank));
    return {
      rank,
      dump: {
        groups: own.map(([name, ranks]) => ({ name, description: name, ranks, entered: null })),
        calls: stopped.has(rank) && fault?.fault === 'host stops, empty dump' ? [] : calls,
      },
    };
  });
  return {
    dumps,
    stopped: [...stopped].sort((a, b) => a - b),
    isOver: done.every((n, r) => n === programs[r]!.length),
  };
}

const layouts = fc
  .record({
    tensor: fc.integer({ min: 1, max: 4 }),
    data: fc.integer({ min: 1, max: 4 }),
    stages: fc.integer({ min: 1, max: 4 }),
  })
  .filter(({ tensor, data, stages }) => tensor * data * stages > 1 && tensor * data * stages <= 32);
const kinds = fc.constantFrom<Fault>('host stops', 'host stops, empty dump', 'GPU stops');

describe('a job of tensor, data and pipeline groups that stops', () => {
  it('names exactly the rank with the fault, and never one that waits for it', () => {
    fc.assert(
      fc.property(layouts, fc.nat(), fc.integer({ min: 4, max: 40 }), kinds, (layout, who, at, fault) => {
        const world = layout.tensor * layout.data * layout.stages;
        const { dumps, stopped, isOver } = dumpsOf(layout, new Map([[who % world, { at, fault }]]));
        // Between a send and its receive nothing shows whose GPU stopped.
        const isSend = stepOf(who % world, layout)[at % stepOf(who % world, layout).length]?.peer !== null;
        if (isOver || stopped.length === 0 || (fault === 'GPU stops' && isSend)) return;
        expect(hangOf(dumps)?.culprits.map((c) => c.rank)).toEqual(stopped);
      }),
      { numRuns: cases(150, 2_000) },
    );
  });

  it('names only ranks with a fault if there are two', () => {
    const fault = fc.record({ who: fc.nat(), at: fc.integer({ min: 8, max: 14 }), fault: kinds });
    fc.assert(
      fc.property(layouts, fault, fault, (layout, one, other) => {
        const world = layout.tensor * layout.data * layout.stages;
        const faults = new Map([one, other].map((f) => [f.who % world, f]));
        const isBetweenTwo = [...faults].some(([rank, f]) => {
          const step = stepOf(rank, layout);
          return f.fault === 'GPU stops' && step[f.at % step.length]!.peer !== null;
        });
        const { dumps, stopped, isOver } = dumpsOf(layout, faults);
        if (isOver || stopped.length === 0 || stopped.length === world || isBetweenTwo) return;
        const named = hangOf(dumps)?.culprits.map((c) => c.rank) ?? [];
        expect(named).not.toEqual([]);
        expect(stopped).toEqual(expect.arrayContaining(named));
      }),
      { numRuns: cases(150, 2_000) },
    );
  });
});
