import type { RankLine, TrackInfo } from './source.js';

/** Heights in CSS pixels. */
export const ROW = 17;
const COUNTER = 34;
export const RANK_HEAD = 24;
const GAP = 5;
const COLLAPSED = 9;

/** One track of one rank, where it is drawn. */
export interface Lane {
  readonly kind: 'rank' | 'track' | 'loading';
  readonly line: RankLine;
  readonly track: number;
  readonly info: TrackInfo | null;
  readonly title: string;
  readonly y: number;
  readonly height: number;
  /** Rows that are shown. */
  readonly rows: number;
  readonly rowHeight: number;
  readonly collapsed: boolean;
  /** The row that is drawn first: a collapsed training thread shows what is inside its steps. */
  readonly firstRow: number;
}

export const laneKey = (rank: number, track: number) => `${rank}/${track}`;

/** Whether a track is small at first: what the reader seldom needs. Several ranks are compared by their devices. */
function startsCollapsed(info: TrackInfo, ranks: number): boolean {
  if (info.kind === 'thread') return !info.training || ranks > 1;
  return info.kind === 'gpu-annotations' || info.kind === 'gpu-syncs' || info.title.endsWith('more streams');
}

/** All lanes of the shown ranks from top to bottom. `toggled`: tracks that are not as they are at first. */
export function layOut(
  lines: readonly RankLine[],
  tracksOf: ReadonlyMap<number, readonly TrackInfo[]>,
  toggled: ReadonlySet<string>,
): { readonly lanes: readonly Lane[]; readonly height: number } {
  const lanes: Lane[] = [];
  let y = 0;
  const push = (lane: Omit<Lane, 'y'>) => {
    lanes.push({ ...lane, y });
    y += lane.height + GAP;
  };
  for (const line of lines) {
    const head = {
      line,
      info: null,
      track: -1,
      rows: 1,
      rowHeight: RANK_HEAD,
      collapsed: false,
      firstRow: 0,
    };
    push({ ...head, kind: 'rank', title: line.title, height: RANK_HEAD });
    const tracks = tracksOf.get(line.rank);
    if (!tracks) push({ ...head, kind: 'loading', title: 'reading the trace …', height: ROW });
    tracks?.forEach((info, track) => {
      const collapsed = startsCollapsed(info, lines.length) !== toggled.has(laneKey(line.rank, track));
      const rows = collapsed ? 1 : info.rows;
      const rowHeight = info.kind === 'counter' ? (collapsed ? COLLAPSED : COUNTER) : ROW;
      push({
        kind: 'track',
        line,
        track,
        info,
        title: info.title,
        rows,
        rowHeight,
        collapsed,
        firstRow: collapsed && info.training && info.rows > 1 ? 1 : 0,
        height: rows * rowHeight,
      });
    });
    y += GAP;
  }
  return { lanes, height: y };
}
