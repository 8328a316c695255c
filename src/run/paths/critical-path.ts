import { type RankTimeline, segmentBefore, touches } from '../../facts/rank-timeline.js';
import { sumOfClasses, TIME_CLASSES, type TimeByClass, totals } from '../../facts/time-class.js';
import type { Meetings } from './meetings.js';

/** What set the pace of the run, walked from its end back to its beginning. ns per step. */
export interface CriticalPath {
  readonly time: TimeByClass;
  /** Whose time it was, most first. Ranks that are not on the path are left out. */
  readonly ranks: readonly { readonly rank: number; readonly time: TimeByClass; readonly ns: number }[];
  /** Changes from one rank to another, per step. */
  readonly hops: number;
  /** The path itself, in order of time: whose time it was, in ns of that rank's trace. Not all of very many. */
  readonly pieces: readonly PathPiece[];
}

export interface PathPiece {
  readonly rank: number;
  readonly from: number;
  readonly to: number;
}

const MAX_PIECES = 50_000;

export interface PathRank {
  readonly rank: number;
  /** Index in the matching. */
  readonly rankIndex: number;
  readonly timeline: RankTimeline;
  /** Index of each common step in the timeline's steps. */
  readonly steps: readonly number[];
}

const CLASSES = TIME_CLASSES.length;
const TRANSFER = TIME_CLASSES.indexOf('comms_transfer');
const HOST_COMMS = TIME_CLASSES.indexOf('idle_comms');

/**
 * Walks back from the end of the common steps. On a rank it goes through the rank's own time until it meets exposed
 * communication. The collective that ended it took one transfer after its last member came: that transfer is on the path,
 * and the path goes on with that member from the time it came. That time is on the member's own clock, so no two clocks
 * are compared. `lastRank`: index in `ranks` to begin with, for the last step of each run of steps. Null without steps.
 */
export function walkBack(
  ranks: readonly PathRank[],
  meetings: Meetings,
  lastRank: (lastStep: number) => number,
): CriticalPath | null {
  const count = ranks[0]?.steps.length ?? 0;
  if (count === 0) return null;
  const walk = new Walk(ranks, meetings);
  for (const [from, to] of runsOfSteps(ranks)) walk.run(from, to, lastRank(to));
  return walk.finish(count);
}

/** Runs of common steps that follow each other on all ranks: [first, last], as indices. */
export function runsOfSteps(ranks: readonly PathRank[]): [number, number][] {
  const runs: [number, number][] = [];
  const count = ranks[0]!.steps.length;
  for (let s = 0; s < count; s++) {
    const follows =
      s > 0 &&
      ranks.every(({ timeline: { stepFrom, stepTo }, steps }) => {
        const [before, own] = [steps[s - 1]!, steps[s]!];
        return own === before + 1 && touches(stepTo[before]!, stepFrom[own]!);
      });
    if (follows) runs.at(-1)![1] = s;
    else runs.push([s, s]);
  }
  return runs;
}

class Walk {
  /** ns by rank and class. */
  readonly #sums: Float64Array[];
  /** From the index in the matching to the index in `ranks`. */
  readonly #indexOf: ReadonlyMap<number, number>;
  #hops = 0;
  /** By run of steps, each from the last to the first. */
  readonly #pieces: { readonly rank: number; from: number; readonly to: number }[][] = [];
  #piecesLeft = MAX_PIECES;

  constructor(
    readonly ranks: readonly PathRank[],
    readonly meetings: Meetings,
  ) {
    this.#sums = ranks.map(() => new Float64Array(CLASSES));
    this.#indexOf = new Map(ranks.map((r, i) => [r.rankIndex, i]));
  }

  run(fromStep: number, toStep: number, lastRank: number): void {
    this.#pieces.push([]);
    const begin = this.ranks.map((r) => r.timeline.stepFrom[r.steps[fromStep]!]!);
    // How far back each rank has been walked: nothing counts twice, even where collectives were matched wrongly.
    const reached = this.ranks.map((r) => r.timeline.stepTo[r.steps[toStep]!]!);
    const segments = this.ranks.reduce((n, { timeline }) => n + timeline.length, 0);
    let movesLeft = segments + 2 * this.meetings.matched.length;
    let r = lastRank;
    while (reached[r]! > begin[r]! && movesLeft-- > 0) {
      const { timeline, rankIndex } = this.ranks[r]!;
      const t = reached[r]!;
      const i = segmentBefore(timeline, t);
      if (i < 0) return;
      const from = Math.max(begin[r]!, timeline.start[i]!);
      const entry = timeline.exposed[i] === 1 ? this.meetings.releasing(rankIndex, from, t) : -1;
      if (entry < 0) {
        this.#add(r, i, from, t);
        reached[r] = from;
        continue;
      }
      const { start, end } = this.meetings.collectives[rankIndex]!;
      const awaited = this.meetings.awaited({ rankIndex, entry });
      const next = awaited ? this.#indexOf.get(awaited.rankIndex) : undefined;
      if (!awaited || next === undefined) {
        // It came last itself, or the rank it waited for was not captured. Always move back by 1 ns or more.
        const back = Math.min(t - 1, Math.max(from, start[entry]!));
        this.#add(r, i, Math.max(from, back), t);
        reached[r] = back;
        continue;
      }
      if (end[entry]! < t) this.#add(r, i, end[entry]!, t);
      const waited = this.meetings.waits.waitOf[rankIndex]![entry]!;
      const transferred = Math.max(0, Math.min(t, end[entry]!) - start[entry]! - waited);
      this.#addTransfer(r, i, transferred);
      this.#addPiece(r, Math.min(t, end[entry]!) - transferred, Math.min(t, end[entry]!));
      reached[r] = Math.max(from, start[entry]!);
      const arrived = this.meetings.collectives[awaited.rankIndex]!.start[awaited.entry]!;
      reached[next] = Math.min(reached[next]!, arrived);
      r = next;
      this.#hops++;
    }
  }

  /** Part of a segment, with the same share of each class. */
  #add(r: number, i: number, from: number, to: number): void {
    const { start, end, classes } = this.ranks[r]!.timeline;
    const share = (to - from) / (end[i]! - start[i]! || 1);
    const sums = this.#sums[r]!;
    for (let c = 0; c < CLASSES; c++) sums[c]! += classes[i * CLASSES + c]! * share;
    this.#addPiece(r, from, to);
  }

  /** Joined with the piece after it, if that is of the same rank and touches it. */
  #addPiece(r: number, from: number, to: number): void {
    const { rank } = this.ranks[r]!;
    const pieces = this.#pieces.at(-1)!;
    const next = pieces.at(-1);
    if (!(to > from)) return;
    if (next?.rank === rank && touches(to, next.from)) next.from = from;
    else if (this.#piecesLeft-- > 0) pieces.push({ rank, from, to });
  }

  /** Divided between device and host as communication in the segment is. */
  #addTransfer(r: number, i: number, ns: number): void {
    const { classes } = this.ranks[r]!.timeline;
    const [device, host] = [classes[i * CLASSES + TRANSFER]!, classes[i * CLASSES + HOST_COMMS]!];
    const share = device + host > 0 ? device / (device + host) : 1;
    this.#sums[r]![TRANSFER]! += ns * share;
    this.#sums[r]![HOST_COMMS]! += ns * (1 - share);
  }

  finish(steps: number): CriticalPath {
    const perStep = (sums: Float64Array) => totals((c) => sums[TIME_CLASSES.indexOf(c)]! / steps);
    const all = new Float64Array(CLASSES);
    for (const sums of this.#sums) for (let c = 0; c < CLASSES; c++) all[c]! += sums[c]!;
    const ranks = this.ranks.map(({ rank }, r) => {
      const time = perStep(this.#sums[r]!);
      return { rank, time, ns: sumOfClasses(time) };
    });
    return {
      time: perStep(all),
      ranks: ranks.filter((r) => r.ns > 0).sort((a, b) => b.ns - a.ns),
      hops: this.#hops / steps,
      pieces: this.#pieces.flatMap((run) => run.reverse()),
    };
  }
}
