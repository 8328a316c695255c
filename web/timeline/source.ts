import { unpack } from '../../src/base/packed.js';
import type { DrawnSlices, TimelineSource, TimelineTracks } from '../../src/drawing/timeline.js';

export type * from '../../src/drawing/timeline.js';

/** The server of `whyslow open`. Null: the run has no trace to draw. */
export async function serverSource(base = 'data/timeline'): Promise<TimelineSource | null> {
  const tracks = await getJson<TimelineTracks | null>(base);
  if (!tracks) return null;
  return {
    tracks: async () => tracks,
    open: (rank) => getJson(`${base}/open?${words({ rank })}`),
    slices: async (query) => {
      const response = await get(`${base}/slices?${words(query)}`);
      return unpack<DrawnSlices>(new Uint8Array(await response.arrayBuffer()));
    },
    detail: ({ rank, track, row, index }) => getJson(`${base}/detail?${words({ rank, track, row, index })}`),
    search: (text, limit, ranks) => getJson(`${base}/search?${words({ text, limit, ranks: ranks.join() })}`),
    totals: (query) => getJson(`${base}/totals?${words(query)}`),
    arrows: ({ from, to, ranks }) => getJson(`${base}/arrows?${words({ from, to, ranks: ranks.join() })}`),
  };
}

const words = (fields: object) =>
  new URLSearchParams(Object.entries(fields).map(([name, value]) => [name, String(value)])).toString();

async function get(address: string): Promise<Response> {
  const response = await fetch(address);
  if (!response.ok) throw new Error(await response.text());
  return response;
}

async function getJson<T>(address: string): Promise<T> {
  return (await get(address)).json() as Promise<T>;
}
