import { busFactor, type CollectiveKind } from './collective-kinds.js';
import type { FaultPlan } from './faults.js';
import { type Group, hostOf } from './layout.js';
import type { Settings } from './options.js';
import { hash01, normalOf } from './random.js';

/** One collective as all its members take part in it. */
export interface Meeting {
  readonly id: number;
  readonly group: Group;
  /** `send` for a message, on both sides. */
  readonly kind: CollectiveKind;
  readonly bytes: number;
  readonly step: number;
  /** In the order of `starts`; for a message the sender, then the receiver. */
  readonly ranks: readonly number[];
  /** When each member's kernel starts, true µs. */
  readonly starts: Float64Array;
  /** When it is over for all, true µs; NaN: not everybody is there yet. */
  end: number;
  transferUs: number;
  arrived: number;
  /** Ranks that cannot go on before it is over. */
  readonly waiting: Program[];
}

/** A rank's training: runs on until it needs the end of a collective that is not known yet. */
export type Program = Generator<Meeting, void, void>;

export interface Arrival {
  readonly rank: number;
  readonly start: number;
  readonly step: number;
  /** The how-many-th of the group, or of the pair. */
  readonly turn: number;
}

export interface Transfer {
  readonly kind: CollectiveKind;
  readonly bytes: number;
  /** Part of what the group moves in a step: how much of a slow link's delay it gets. */
  readonly share: number;
}

/** NCCL's buffer: smaller messages leave without the receiver. */
const EAGER_BYTES = 4 << 20;

/**
 * Where ranks meet. Collectives of a group match by their order, as in NCCL; so do messages of a pair. Who waits for
 * whom follows from the programs, never from times: with and without a fault meetings have the same ids and dice.
 */
export class Exchange {
  readonly meetings: Meeting[] = [];
  /** Programs that may go on. */
  readonly ready: Program[] = [];
  readonly #channels = new Map<string, Meeting[]>();

  constructor(
    readonly settings: Settings,
    readonly faults: FaultPlan,
  ) {}

  arrive(arrival: Arrival, group: Group, what: Transfer, pair?: readonly [number, number]): Meeting {
    const channel = this.#channel(pair ? `${group.index} ${pair[0]} ${pair[1]}` : `${group.index}`);
    channel[arrival.turn] ??= this.#open(group, what, pair ?? group.ranks, arrival.step);
    const meeting = channel[arrival.turn]!;
    if (meeting.kind !== what.kind || meeting.bytes !== what.bytes)
      throw new Error(`rank ${arrival.rank} comes to ${what.kind}, others are in ${meeting.kind}`);
    meeting.starts[meeting.ranks.indexOf(arrival.rank)] = arrival.start;
    meeting.arrived++;
    if (meeting.arrived === meeting.ranks.length) this.#close(meeting, what.share);
    return meeting;
  }

  #channel(key: string): Meeting[] {
    let channel = this.#channels.get(key);
    if (!channel) {
      channel = [];
      this.#channels.set(key, channel);
    }
    return channel;
  }

  #open(group: Group, { kind, bytes }: Transfer, ranks: readonly number[], step: number): Meeting {
    const starts = new Float64Array(ranks.length).fill(Number.NaN);
    const unknown = { end: Number.NaN, transferUs: Number.NaN, arrived: 0, waiting: [] };
    const meeting = { id: this.meetings.length, group, kind, bytes, step, ranks, starts, ...unknown };
    this.meetings.push(meeting);
    return meeting;
  }

  #close(meeting: Meeting, share: number): void {
    const { id, group, step } = meeting;
    const { seed, noise } = this.settings;
    const dice = normalOf(hash01(seed, id, 3), hash01(seed, id, 4));
    const bus = busFactor(meeting.kind, meeting.ranks.length) * meeting.bytes;
    const healthy = (group.latencyUs + bus / group.bandwidth) * Math.exp(noise * dice);
    meeting.transferUs = healthy + this.faults.linkUs(group, step) * share;
    meeting.end = meeting.starts.reduce((a, b) => Math.max(a, b)) + meeting.transferUs;
    this.ready.push(...meeting.waiting.splice(0));
  }

  /** When one member sees it end: all at once, but for what signals take. */
  endFor(meeting: Meeting, rank: number): number {
    const { seed, clock } = this.settings;
    const sends = meeting.kind === 'send' && meeting.ranks[0] === rank;
    if (sends && meeting.bytes <= EAGER_BYTES) return meeting.starts[0]! + meeting.transferUs;
    const host = hostOf(this.settings, rank);
    const farUs = host === hostOf(this.settings, meeting.ranks[0]!) ? 0 : clock.betweenHostsUs;
    const nearUs = clock.withinHostUs * hash01(seed, meeting.id, rank, 1);
    return meeting.end + nearUs + farUs * hash01(seed, meeting.id, host, 2);
  }
}
