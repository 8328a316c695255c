import { type Spans, unionOf } from '../../src/base/intervals.js';
import { ns, share } from '../../src/base/units.js';
import { CollectivesBuilder } from '../../src/facts/collectives-builder.js';
import {
  COLLECTIVE_KINDS,
  type CollectiveGroup,
  type CollectiveKind,
} from '../../src/facts/rank-collectives.js';
import { cutTimeline } from '../../src/facts/rank-timeline.js';
import { TIME_CLASSES, type TimeByClass, type TimeClass, totals } from '../../src/facts/time-class.js';
import { alignClocks } from '../../src/run/collectives/clocks.js';
import { matchCollectives } from '../../src/run/collectives/match.js';
import { divideWaits } from '../../src/run/collectives/waits.js';
import type { PathRank } from '../../src/run/paths/critical-path.js';
import { Meetings } from '../../src/run/paths/meetings.js';
import type { RankTable } from '../../src/run/table/build-table.js';

/**
 * For the tests of this folder: a rank as text, one string per step. `compute 10`: 10 ms of a time class. `@a 5`: nothing
 * but collective `a` for 5 ms. `+a 20`: collective `a` starts here and takes 20 ms while the rest goes on; its exposed end
 * is written as `-a 3`. Collectives are all_reduce, or the kind after a colon.
 */
export function drawRank(rank: number, ...steps: readonly string[]) {
  const groups: CollectiveGroup[] = [];
  const builder = new CollectivesBuilder();
  const spans = Object.fromEntries(TIME_CLASSES.map((c) => [c, [] as [number, number][]])) as Record<
    TimeClass,
    [number, number][]
  >;
  const bounds = [0];
  let now = 0;
  const groupOf = (name: string) => {
    const known = groups.findIndex((g) => g.name === name);
    if (known >= 0) return known;
    return groups.push({ key: name, name, description: '', size: null, ranks: null, named: true }) - 1;
  };
  steps.forEach((text, step) => {
    for (const item of text.split(',').map((i) => i.trim())) {
      const [what = '', length] = item.split(' ');
      const ns = Number(length) * 1e6;
      const isCollective = what[0] === '@' || what[0] === '+';
      const [name = '', kind = 'all_reduce'] = what.slice(1).split(':');
      if (isCollective) {
        if (!COLLECTIVE_KINDS.includes(kind as CollectiveKind)) throw new Error(kind);
        builder.add({
          group: groupOf(name),
          kind: kind as CollectiveKind,
          step,
          start: now,
          end: now + ns,
          sequence: Number.NaN,
          peer: -1,
          bytes: Number.NaN,
          dtype: '',
          onDevice: true,
          exposed: what[0] === '@' ? ns : 0,
        });
        if (what[0] === '+') continue;
      }
      const c = isCollective || what[0] === '-' ? 'comms_transfer' : (what as TimeClass);
      if (!TIME_CLASSES.includes(c)) throw new Error(item);
      spans[c].push([now, now + ns]);
      now += ns;
    }
    bounds.push(now);
  });
  const collectives = builder.finish({
    source: 'trace',
    baseNs: 0n,
    timed: true,
    groups,
    numbered: true,
    profilerStart: false,
    steps: steps.map((_, s) => s),
  });
  const timeline = cutTimeline({
    spans: Object.fromEntries(TIME_CLASSES.map((c) => [c, unionOf(spans[c])])) as Record<TimeClass, Spans>,
    stepFrom: bounds.slice(0, -1),
    stepTo: bounds.slice(1),
    arrivals: collectives.start,
  });
  return { rank, collectives, timeline, bounds, steps: steps.map((_, s) => s) };
}

/** Ranks side by side, as the comparison makes them. */
export function drawRun(...ranks: readonly ReturnType<typeof drawRank>[]) {
  const inputs = ranks.map(({ rank, collectives }) => ({ rank, collectives }));
  const matched = matchCollectives(inputs);
  const waits = divideWaits(inputs, matched);
  const meetings = new Meetings(
    inputs.map((i) => i.collectives),
    matched,
    waits,
  );
  const paths: PathRank[] = ranks.map(({ rank, timeline, steps }, rankIndex) => ({
    rank,
    rankIndex,
    timeline,
    steps,
  }));
  return { paths, meetings, clocks: alignClocks(inputs, matched).ranks, table: tableOf(ranks) };
}

function tableOf(ranks: readonly ReturnType<typeof drawRank>[]): RankTable {
  const steps = ranks[0]!.steps;
  const time = ranks.map(({ timeline, bounds }) =>
    steps.map((s): TimeByClass => {
      const inStep = Array.from({ length: timeline.length }, (_, i) => i).filter(
        (i) => timeline.start[i]! >= bounds[s]! && timeline.start[i]! < bounds[s + 1]!,
      );
      return totals((c) =>
        inStep.reduce(
          (ns, i) => ns + timeline.classes[i * TIME_CLASSES.length + TIME_CLASSES.indexOf(c)]!,
          0,
        ),
      );
    }),
  );
  const own = time.map((list) =>
    Float64Array.from(list, (t) => Object.values(t).reduce((a, b) => a + b, 0) - t.comms_transfer),
  );
  const step = ns(ranks.reduce((sum, r) => sum + r.bounds.at(-1)!, 0) / ranks.length / steps.length);
  return {
    ranks: ranks.map((r) => r.rank),
    rankIndices: [...ranks.keys()],
    hosts: ranks.map(() => null),
    coordinates: ranks.map(() => null),
    steps,
    own,
    mayHide: own.map((o) => o.map(() => 0)),
    recorded: step,
    time,
    fromLogs: false,
    onlyInputKnown: false,
    inputCopies: ranks.map(() => share(0)),
  };
}
