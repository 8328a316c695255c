import type { RunPlan } from './run-plan.js';

/** What differs from the recording. */
export interface Change {
  /** ns that a segment of a rank's own time takes instead; both are indices in the plan. */
  readonly own?: (rank: number, segment: number) => number;
  /** Transfers take no time. */
  readonly hidden?: boolean;
  /** The share of its transfer that a collective takes instead. */
  readonly transferShare?: (collective: number) => number;
  /** Nobody waits for ranks that were not captured. */
  readonly alone?: boolean;
}

/**
 * Replays all ranks. Each goes through its own time and becomes ready for its collectives on the way. In exposed
 * communication it waits for the collective that ended it. A collective starts after the one before it in its stream, and
 * ends one transfer after its last member started. Returns the ns that each rank took. Null: ranks wait for each other in a
 * circle, which only wrongly matched collectives can cause.
 */
export function playRun(plan: RunPlan, change: Change = {}): Float64Array | null {
  return new Player(plan, change).run();
}

class Player {
  /** By rank: its time, its segment, and the slot it waits for (−1: none). */
  readonly #now: Float64Array;
  readonly #at: Uint32Array;
  readonly #blocked: Int32Array;
  /** By rank and slot: when the rank was ready for it, and when it ended. NaN: not yet. */
  readonly #ready: readonly Float64Array[];
  readonly #ended: readonly Float64Array[];
  readonly #hasStarted: readonly Uint8Array[];
  /** By collective: how many members have started it, and the latest start. */
  readonly #started: Uint32Array;
  readonly #latest: Float64Array;
  /** Ranks that can go on. */
  readonly #queue: number[];
  /** Slots that may be able to start: [rank, slot, rank, slot, …]. */
  readonly #startable: number[] = [];

  constructor(
    readonly plan: RunPlan,
    readonly change: Change,
  ) {
    const { ranks, transfer } = plan;
    this.#now = Float64Array.from(ranks, (r) => r.begin);
    this.#at = new Uint32Array(ranks.length);
    this.#blocked = new Int32Array(ranks.length).fill(-1);
    this.#ready = ranks.map((r) => new Float64Array(r.slots.length).fill(Number.NaN));
    this.#ended = ranks.map((r) => new Float64Array(r.slots.length).fill(Number.NaN));
    this.#hasStarted = ranks.map((r) => new Uint8Array(r.slots.length));
    this.#started = new Uint32Array(transfer.length);
    this.#latest = new Float64Array(transfer.length).fill(Number.NEGATIVE_INFINITY);
    this.#queue = ranks.map((_, r) => r);
  }

  run(): Float64Array | null {
    const { ranks } = this.plan;
    for (let r = this.#queue.pop(); r !== undefined; r = this.#queue.pop()) this.#advance(r);
    if (ranks.some((rank, r) => this.#at[r]! < rank.length)) return null;
    return this.#now.map((time, r) => time - ranks[r]!.begin);
  }

  #transferShare(collective: number): number {
    return this.change.hidden ? 0 : (this.change.transferShare?.(collective) ?? 1);
  }

  #advance(r: number): void {
    const rank = this.plan.ranks[r]!;
    while (this.#at[r]! < rank.length) {
      const i = this.#at[r]!;
      const exposed = rank.exposed[i] === 1;
      const own = exposed ? 0 : (this.change.own?.(r, i) ?? rank.duration[i]!);
      for (let k = rank.firstSlot[i]!; k < rank.firstSlot[i + 1]!; k++) {
        const slot = rank.slotOrder[k]!;
        // Set already when the rank returns to a segment in which it had to wait.
        if (!Number.isNaN(this.#ready[r]![slot]!)) continue;
        this.#ready[r]![slot] = this.#now[r]! + rank.slots.after[slot]! * own;
        this.#startable.push(r, slot);
      }
      this.#startAll();
      if (exposed) {
        const release = rank.release[i]!;
        const end = release < 0 ? this.#now[r]! + rank.duration[i]! : this.#ended[r]![release]!;
        if (Number.isNaN(end)) {
          this.#blocked[r] = release;
          return;
        }
        this.#now[r] = Math.max(this.#now[r]!, end + (release < 0 ? 0 : rank.tail[i]!));
      } else this.#now[r]! += own;
      this.#at[r]!++;
    }
  }

  #startAll(): void {
    const { ranks, members } = this.plan;
    const transfer = this.change.alone ? this.plan.transferAlone : this.plan.transfer;
    while (this.#startable.length > 0) {
      const slot = this.#startable.pop()!;
      const r = this.#startable.pop()!;
      const { slots } = ranks[r]!;
      const before = slots.before[slot]!;
      const free = before < 0 ? Number.NEGATIVE_INFINITY : this.#ended[r]![before]!;
      const ready = this.#ready[r]![slot]!;
      // It is tried again when the slot before it ends, or when the rank becomes ready for it.
      if (Number.isNaN(free) || Number.isNaN(ready) || this.#hasStarted[r]![slot] === 1) continue;
      this.#hasStarted[r]![slot] = 1;
      const start = Math.max(free, ready);
      const collective = slots.collective[slot]!;
      if (collective < 0) {
        const { hidden, alone } = this.change;
        this.#end(r, slot, start + (hidden ? 0 : (alone ? slots.alone : slots.duration)[slot]!));
        continue;
      }
      this.#latest[collective] = Math.max(this.#latest[collective]!, start);
      const [from, to] = [members.from[collective]!, members.from[collective + 1]!];
      if (++this.#started[collective]! < to - from) continue;
      const end = this.#latest[collective]! + transfer[collective]! * this.#transferShare(collective);
      for (let m = from; m < to; m++) this.#end(members.rank[m]!, members.slot[m]!, end);
    }
  }

  #end(r: number, slot: number, end: number): void {
    this.#ended[r]![slot] = end;
    const { firstBehind, nextBehind } = this.plan.ranks[r]!.slots;
    for (let next = firstBehind[slot]!; next >= 0; next = nextBehind[next]!) this.#startable.push(r, next);
    if (this.#blocked[r] !== slot) return;
    this.#blocked[r] = -1;
    this.#queue.push(r);
  }
}
