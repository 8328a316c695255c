import { signal } from '@preact/signals';
import { type Lane, laneKey, layOut } from './layout.js';
import { type Scene, TOP } from './scene.js';
import type { TimelineSource, TimelineTracks, TrackInfo } from './source.js';

/** Ranks that are shown at first. */
const FIRST_RANKS = 4;

/** Which ranks are shown, and where their tracks are. Keeps the lanes in the scene. */
export class ShownRanks {
  readonly tracks = signal<TimelineTracks | null>(null);
  readonly ranks = signal<readonly number[]>([]);
  readonly contentHeight = signal(0);
  readonly #opened = new Map<number, readonly TrackInfo[]>();
  readonly #toggled = new Set<string>();
  readonly #source: TimelineSource;
  readonly #scene: Scene;

  constructor(source: TimelineSource, scene: Scene) {
    this.#source = source;
    this.#scene = scene;
  }

  lineOf(rank: number) {
    return this.tracks.value?.ranks.find((line) => line.rank === rank);
  }

  show(ranks: readonly number[]): void {
    this.ranks.value = ranks;
    this.#arrange();
  }

  /** Asks for the tracks of a rank. False: they are there already. */
  async open(rank: number): Promise<boolean> {
    if (this.#opened.has(rank)) return false;
    this.#opened.set(rank, await this.#source.open(rank));
    this.#arrange();
    return true;
  }

  toggle(lane: Lane): void {
    const key = laneKey(lane.line.rank, lane.track);
    if (!this.#toggled.delete(key)) this.#toggled.add(key);
    this.#arrange();
  }

  laneAt(y: number): Lane | null {
    const at = y - TOP + this.#scene.scrollTop;
    return y < TOP ? null : (this.#scene.lanes.find((l) => at >= l.y && at < l.y + l.height) ?? null);
  }

  #arrange(): void {
    const lines = this.ranks.value.flatMap((rank) => this.lineOf(rank) ?? []);
    const { lanes, height } = layOut(lines, this.#opened, this.#toggled);
    this.#scene.lanes = lanes;
    this.contentHeight.value = height + TOP;
  }
}

/** Late ranks are what a reader looks for; next to them, one that is not late. */
export function firstRanks({ ranks }: TimelineTracks): number[] {
  const late = ranks.filter((r) => r.late).slice(0, FIRST_RANKS - 1);
  const others = ranks.filter((r) => !late.includes(r)).slice(0, FIRST_RANKS - late.length);
  return [...late, ...others].map((r) => r.rank);
}

/** A few steps: of hundreds, nothing could be seen. */
export function firstRange({ from, to, ranks }: TimelineTracks): [number, number] {
  const steps = ranks[0]?.steps ?? [];
  if (steps.length < 5) return [from, to];
  const [first, last] = [steps[1]!.from, steps[3]!.to];
  const margin = (last - first) * 0.03;
  return [first - margin, last + margin];
}
