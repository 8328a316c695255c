import { signal } from '@preact/signals';
import type { Selection, Stage } from './selection.js';
import type { SearchHit } from './source.js';

/** The search ends there. */
export const MOST_HITS = 2000;

/** The slices that a search found, and which of them is shown. */
export class Search {
  readonly hits = signal<{ readonly list: readonly SearchHit[]; readonly at: number } | null>(null);
  readonly #stage: Stage;
  readonly #selection: Selection;

  constructor(stage: Stage, selection: Selection) {
    this.#stage = stage;
    this.#selection = selection;
  }

  /** Without text it ends. */
  async find(text: string, ranks: readonly number[]): Promise<void> {
    const isOver = text.trim() === '';
    try {
      const list = isOver ? [] : await this.#stage.source.search(text, MOST_HITS, ranks);
      this.hits.value = isOver ? null : { list, at: -1 };
      this.#stage.scene.hits = list;
      this.#stage.draw();
      if (list.length > 0) await this.step(1);
    } catch (error) {
      this.#stage.fail(error);
    }
  }

  /** To the next or the previous hit, around the ends. The first time: to the first one in view. */
  async step(by: 1 | -1): Promise<void> {
    const found = this.hits.value;
    if (!found || found.list.length === 0) return;
    const first = found.list.findIndex((hit) => hit.start >= this.#stage.viewport.from);
    const at = found.at < 0 ? Math.max(0, first) : (found.at + by + found.list.length) % found.list.length;
    this.hits.value = { list: found.list, at };
    await this.#selection.reveal(found.list[at]!);
  }
}
