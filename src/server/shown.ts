import type { OpenedRun } from '../library/open-stream.js';
import type { PageState } from '../page/page-state.js';

/** What a server shows. It may change while it is shown. */
export interface Shown {
  readonly title: string | null;
  /** Null: nothing, or nothing yet. */
  readonly run: OpenedRun | null;
  state(): PageState;
}

/** A run that was read once; null for a page that only waits for files to be dropped. */
export const shownRun = (run: OpenedRun | null, title: string | null = null): Shown => ({
  title,
  run,
  state: () => ({
    of: run ? 'whole' : 'empty',
    version: run ? 1 : 0,
    lastStep: null,
    age: 0,
    folder: null,
  }),
});
