import { signal } from '@preact/signals';
import type { Scene, SelectedRange } from './scene.js';
import type { PlacedSlice, RangeTotals, SliceDetail, TimelineSource } from './source.js';
import type { Viewport } from './viewport.js';

/** What the parts of a timeline need of it. */
export interface Stage {
  readonly source: TimelineSource;
  readonly scene: Scene;
  readonly viewport: Viewport;
  draw(): void;
  fail(error: unknown): void;
}

export type Picked =
  | { readonly kind: 'slice'; readonly detail: SliceDetail }
  | { readonly kind: 'range'; readonly range: SelectedRange; readonly totals: readonly RangeTotals[] };

/** Ranks of a selected range that are counted. */
const MOST_RANKS = 8;

/** The slice or the range that is selected, and what is known about it. */
export class Selection {
  readonly picked = signal<Picked | null>(null);
  readonly #stage: Stage;

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  async select(slice: Pick<PlacedSlice, 'rank' | 'track' | 'row' | 'index'>): Promise<void> {
    const { source, scene } = this.#stage;
    try {
      const detail = await source.detail(slice);
      scene.selected = detail;
      scene.range = null;
      scene.ownArrows = detail.related.map((other) => {
        const isCaller = other.label === 'Launched by';
        const [call, work] = isCaller ? [other, detail] : [detail, other];
        return { kind: 'launch', from: { ...call, time: call.start }, to: { ...work, time: work.start } };
      });
      this.picked.value = { kind: 'slice', detail };
      this.#stage.draw();
    } catch (error) {
      this.#stage.fail(error);
    }
  }

  async selectRange(range: SelectedRange): Promise<void> {
    const { source, scene } = this.#stage;
    scene.selected = null;
    scene.ownArrows = [];
    this.dragRange(range);
    try {
      const totals = await Promise.all(
        range.ranks
          .slice(0, MOST_RANKS)
          .map((rank) => source.totals({ rank, from: range.from, to: range.to })),
      );
      if (scene.range === range) this.picked.value = { kind: 'range', range, totals };
    } catch (error) {
      this.#stage.fail(error);
    }
  }

  /** A range that is being dragged: shown, not counted yet. */
  dragRange(range: SelectedRange): void {
    this.#stage.scene.range = range;
    this.#stage.draw();
  }

  clear(): void {
    const { scene } = this.#stage;
    scene.selected = null;
    scene.range = null;
    scene.ownArrows = [];
    this.picked.value = null;
    this.#stage.draw();
  }

  /** What is selected fills the view. */
  fit(): void {
    const { selected, range } = this.#stage.scene;
    const [from, to] = selected ? [selected.start, selected.end] : range ? [range.from, range.to] : [0, 0];
    const margin = (to - from) * 0.1;
    if (to > from) this.#stage.viewport.flyTo(from - margin, to + margin);
  }

  /** To a slice, with some room around it. */
  async reveal(slice: PlacedSlice): Promise<void> {
    const { viewport, scene } = this.#stage;
    const length = Math.max(slice.end - slice.start, 1000);
    const isVisible = slice.start < viewport.to && slice.end > viewport.from && length > 4 * scene.nsPerPixel;
    if (!isVisible || length > 4 * viewport.length)
      viewport.flyTo(slice.start - 6 * length, slice.end + 6 * length);
    await this.select(slice);
  }
}
