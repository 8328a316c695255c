import { type Signal, signal } from '@preact/signals';
import type { TimelineSource } from '../timeline/source.js';
import type { TimelineFocus, TimelineView } from '../timeline/Timeline.js';
import { showSection } from './show-section.js';
import type { ViewState } from './view-state.js';

/** A place in the run. Times are those of the rank's trace, ns from its first event. */
export interface Place {
  readonly rank: number;
  readonly step?: number | null;
  readonly ts?: number | null;
  readonly dur?: number | null;
  readonly label?: string;
}

/** Leads from evidence, the heat map and the tables to the timeline, and keeps the address up to date. */
export class Navigator {
  readonly focus = signal<TimelineFocus | null>(null);
  readonly timelineView: Signal<TimelineView>;
  /** When each rank's trace begins on the run's clock, by rank. Empty until the timeline is there. */
  readonly #begins = new Map<number, number>();
  #unfollow = () => {};

  constructor(readonly view: Signal<ViewState>) {
    const { rank, step, time } = view.peek();
    this.timelineView = signal({ from: time?.[0] ?? 0, to: time?.[1] ?? 0, ranks: [] });
    if (rank !== null && time === null) this.focus.value = { rank, ...(step === null ? {} : { step }) };
  }

  /** From here on the address follows the timeline. */
  async follow(timeline: TimelineSource): Promise<void> {
    const { ranks, from, to } = await timeline.tracks();
    for (const { rank, begin } of ranks) this.#begins.set(rank, begin);
    this.#unfollow();
    this.#unfollow = this.timelineView.subscribe((shown) => {
      const isWhole = shown.to <= shown.from || (shown.from <= from && shown.to >= to);
      const time = isWhole ? null : ([shown.from, shown.to] as const);
      if (String(time) !== String(this.view.peek().time)) this.view.value = { ...this.view.peek(), time };
    });
  }

  /** Whether the timeline has the rank. */
  hasTimeline(rank: number): boolean {
    return this.#begins.has(rank);
  }

  /** Opens one of the tables. */
  lookUp(tab: string): void {
    this.view.value = { ...this.view.peek(), tab };
    showSection('tables');
  }

  /** Marks the place on the page, without moving there. */
  mark(rank: number, step: number | null): void {
    this.view.value = { ...this.view.peek(), rank, step };
  }

  show({ rank, step = null, ts = null, dur = null, label }: Place): void {
    this.mark(rank, step);
    const begin = this.#begins.get(rank);
    if (begin === undefined) return showSection('ranks');
    const focus: { -readonly [K in keyof TimelineFocus]: TimelineFocus[K] } = { rank };
    if (step !== null) focus.step = step;
    if (ts !== null) {
      focus.from = begin + ts;
      focus.to = begin + ts + Math.max(1000, dur ?? 0);
    }
    if (label !== undefined) focus.label = label;
    this.focus.value = focus;
    showSection('timeline');
  }
}
