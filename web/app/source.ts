import { unpack } from '../../src/base/packed.js';
import { EmbeddedSource, type EmbeddedTimeline } from '../../src/drawing/embedded.js';
import type { PageData, PageState } from '../../src/page/page-data.js';
import type { DroppedTrace } from '../reading/read-dropped.js';
import { serverSource as serverTimeline, type TimelineSource } from '../timeline/source.js';
import { embeddedBytes } from './embedded-bytes.js';

/** Where the page's data comes from: the file that it is in, or the server of `whyslow open`. */
export interface PageSource {
  readonly origin: 'file' | 'server' | 'dropped';
  /** Null: this page does not change. */
  state(): Promise<PageState | null>;
  page(): Promise<PageData>;
  /** Null: there is no trace, or this file does not have it. */
  timeline(): Promise<TimelineSource | null>;
}

/** The data is in this file. */
export const isFile = (): boolean => document.getElementById('whyslow-page') !== null;

export const openSource = (): PageSource => (isFile() ? embeddedSource() : serverSource());

const embeddedSource = (): PageSource => ({
  origin: 'file',
  state: async () => null,
  page: async () => unpack<PageData>(await embeddedBytes('whyslow-page')),
  timeline: () => embeddedTimeline('whyslow-timeline'),
});

const serverSource = (): PageSource => ({
  origin: 'server',
  state: async () => (await answerFrom('data/state')).json() as Promise<PageState>,
  page: async () => unpack<PageData>(await bytesFrom('data/page')),
  timeline: () => serverTimeline(),
});

/** A trace that was read in this browser. */
export const droppedSource = ({ page, timeline }: DroppedTrace): PageSource => ({
  origin: 'dropped',
  state: async () => null,
  page: async () => page,
  timeline: async () => timeline,
});

/** Null: the file has none. */
async function embeddedTimeline(id: string): Promise<TimelineSource | null> {
  if (!document.getElementById(id)) return null;
  return new EmbeddedSource(unpack<EmbeddedTimeline>(await embeddedBytes(id)));
}

const bytesFrom = async (address: string) => new Uint8Array(await (await answerFrom(address)).arrayBuffer());

async function answerFrom(address: string): Promise<Response> {
  const answer = await fetch(address);
  if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
  return answer;
}
