import type { TimelineSource } from '../../src/drawing/timeline.js';
import type { PageData } from '../../src/page/page-data.js';

/** Messages between the page and the thread that reads a dropped trace. */
export type ToReader =
  | { readonly type: 'read'; readonly file: File }
  | { readonly type: 'ask'; readonly id: number; readonly question: Question; readonly words: unknown[] };

export type FromReader =
  | { readonly type: 'progress'; readonly bytes: number }
  | { readonly type: 'page'; readonly page: PageData; readonly hasTimeline: boolean }
  | { readonly type: 'failed'; readonly why: string }
  | { readonly type: 'answer'; readonly id: number; readonly value: unknown }
  | { readonly type: 'no-answer'; readonly id: number; readonly why: string };

export type Question = keyof TimelineSource;
