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
    slices: joinedSlices(`${base}/slices`),
    detail: ({ rank, track, row, index }) => getJson(`${base}/detail?${words({ rank, track, row, index })}`),
    search: (text, limit, ranks) => getJson(`${base}/search?${words({ text, limit, ranks: ranks.join() })}`),
    totals: (query) => getJson(`${base}/totals?${words(query)}`),
    arrows: ({ from, to, ranks }) => getJson(`${base}/arrows?${words({ from, to, ranks: ranks.join() })}`),
  };
}

/** Asks for all tracks of one rank and time that are wanted at once in one request. */
function joinedSlices(address: string): TimelineSource['slices'] {
  const waiting = new Map<string, { readonly tracks: number[]; readonly answer: Promise<DrawnSlices[]> }>();
  return async ({ rank, track, from, to, width }) => {
    const key = words({ rank, from, to, width });
    let group = waiting.get(key);
    if (!group) {
      const tracks: number[] = [];
      const ask = async () => {
        // The others are asked for before this continues.
        await Promise.resolve();
        waiting.delete(key);
        const response = await get(`${address}?${key}&tracks=${tracks.join()}`);
        return unpack<DrawnSlices[]>(new Uint8Array(await response.arrayBuffer()));
      };
      group = { tracks, answer: ask() };
      waiting.set(key, group);
    }
    const at = group.tracks.push(track) - 1;
    return (await group.answer)[at]!;
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
