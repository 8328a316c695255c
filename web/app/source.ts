import type { PageData } from '../../src/page/page-data.js';

/** Where the page's data comes from: the file that it is in, or the server of `whyslow open`. */
export interface PageSource {
  page(): Promise<PageData>;
}
